// Is the world of auth_world.mjs what it says it is? Drives it with a plain OAuth client and the
// browser, without any of our code, so that a test of ours that fails in it has found something.
//
//   node auth_world_selftest.mjs [WORD...]      only the checks whose name contains one of the words
//
// The packages are looked up in $PATCHBAY_NPM_DIR.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Hands, metadataOf, PlainClient } from './plain_oauth.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'));
const jose = require('jose');
const scratch = mkdtempSync(join(tmpdir(), 'patchbay-selftest.'));
const profile = join(scratch, 'profile');
const began = Date.now();

const running = spawn(process.execPath, [join(here, 'auth_world.mjs'), '--servers', '4'], { stdio: ['pipe', 'pipe', 'inherit'] });
const world = JSON.parse(await new Promise((done) => createInterface({ input: running.stdout }).once('line', done)));
const server = Object.fromEntries(world.servers.map((one) => [one.name, one]));

async function control(command, given = {}) {
  const answer = await (await fetch(`${world.control}/${command}`, { method: 'POST', body: JSON.stringify(given) })).json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}
const counts = async () => (await control('state')).counts;

// A command line is for everybody to read, and ./test --leaks reads it.
const typing = { ...process.env, BROWSER_PASSWORD: world.password };

function browser(url, ...flags) {
  return new Promise((done) => {
    const words = [join(here, 'browser.mjs'), url, '--user', world.user, ...flags];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'], env: typing });
    let out = '';
    child.stdout.on('data', (part) => (out += part));
    child.on('close', (code) => done({ code, ...JSON.parse(out) }));
  });
}
const person = (url) => browser(url, '--profile', profile);
const hands = new Hands(world.user, world.password);
const quickly = (url) => hands.browse(url);

const metadata = await metadataOf(world.issuer);
const client = new PlainClient(metadata, jose);
const bound = new PlainClient(metadata, jose);
// Signed in once, used by many checks; refreshed ones replace it.
const held = {};
async function tokensFor(name, who = client, browse = quickly) {
  if (!who.id) await who.register();
  held[name] ??= await who.signIn({ resource: server[name].resource, browse });
  assert.ok(held[name].access_token, JSON.stringify(held[name]));
  return held[name];
}
const newSignIn = (name, ...how) => (delete held[name], tokensFor(name, ...how));

const checks = {
  'metadata names all that is offered': async () => {
    assert.equal(metadata.issuer, world.issuer);
    assert.deepEqual(metadata.code_challenge_methods_supported, ['S256']);
    assert.equal(metadata.authorization_response_iss_parameter_supported, true);
    assert.equal(metadata.client_id_metadata_document_supported, true);
    assert.deepEqual(metadata.dpop_signing_alg_values_supported, ['ES256']);
    assert.ok(metadata.registration_endpoint && metadata.revocation_endpoint);
    assert.equal((await fetch(`${world.issuer}/.well-known/openid-configuration`)).status, 200);
  },
  'a challenge leads to path-aware resource metadata': async () => {
    const refused = await client.call(server.plain0.url);
    assert.equal(refused.status, 401);
    const [, where] = /resource_metadata="([^"]+)"/.exec(refused.challenge);
    assert.match(where, /\/\.well-known\/oauth-protected-resource\/mcp$/);
    const found = await (await fetch(where)).json();
    assert.equal(found.resource, server.plain0.resource);
    assert.deepEqual(found.authorization_servers, [world.issuer]);
    assert.equal((await fetch(where.replace(/\/mcp$/, ''))).status, 404);
  },
  'the first sign-in types the password, the next one does not': async () => {
    await control('clear');
    const first = await newSignIn('plain0', client, person);
    assert.equal(first.browsed.code, 0);
    assert.deepEqual([first.browsed.passwords, first.browsed.consents], [1, 1]);
    assert.match(first.browsed.text, /Signed in/);
    assert.equal(first.came.iss, world.issuer);
    assert.equal(first.token_type, 'Bearer');
    const second = await newSignIn('plain1', client, person);
    assert.deepEqual([second.browsed.passwords, second.browsed.consents], [0, 1]);
    const seen = await counts();
    assert.deepEqual([seen.registrations, seen.authorizations, seen.passwords, seen.consents, seen.windows_at_once], [1, 2, 1, 2, 1]);
    assert.equal(seen['token.authorization_code'], 2);
  },
  'tools are called and counted with the fingerprint': async () => {
    for (const name of ['plain0', 'plain1']) {
      const tokens = await tokensFor(name);
      const answer = await client.call(server[name].url, tokens.access_token, 'whoami');
      const caller = JSON.parse(answer.text);
      assert.equal(caller.sub, world.user);
      assert.equal(caller.aud, server[name].resource);
      assert.equal(caller.fingerprint, createHash('sha256').update(tokens.access_token).digest('hex').slice(0, 16));
      const { events } = await control('events', { what: 'call' });
      assert.equal(events.at(-1).fingerprint, caller.fingerprint);
    }
  },
  'tokens are of the kind the server is said to take': async () => {
    assert.equal((await tokensFor('plain0')).access_token.split('.').length, 3);
    assert.equal((await tokensFor('plain1')).access_token.split('.').length, 1);
  },
  'a token for one resource is refused at another': async () => {
    for (const [from, to] of [['plain0', 'plain2'], ['plain1', 'plain3'], ['plain0', 'plain1']]) {
      const refused = await client.call(server[to].url, (await tokensFor(from)).access_token, 'echo', { text: 'x' });
      assert.equal(refused.status, 401);
      assert.match(refused.challenge, /error="invalid_token"/);
    }
  },
  'a code is worth nothing without its verifier, or a second time': async () => {
    await tokensFor('plain0');
    const { exchange } = await client.authorize({ resource: server.plain2.resource, browse: quickly });
    assert.equal((await client.token({ ...exchange, code_verifier: 'a-verifier-that-nobody-was-given-0123456789ab' })).error, 'invalid_grant');
    const other = await client.authorize({ resource: server.plain2.resource, browse: quickly });
    const got = await client.token(other.exchange);
    assert.ok(got.access_token);
    assert.equal((await client.token(other.exchange)).error, 'invalid_grant');
  },
  'an authorization without PKCE is refused': async () => {
    await tokensFor('plain0');
    const { came } = await client.authorize({ resource: server.plain0.resource, browse: quickly, leaveOut: ['code_challenge', 'code_challenge_method'] });
    assert.equal(came.error, 'invalid_request');
  },
  'an unknown resource is refused': async () => {
    await tokensFor('plain0');
    const { came } = await client.authorize({ resource: 'http://127.0.0.1:9/mcp', browse: quickly });
    assert.equal(came.error, 'invalid_target');
  },
  'a refresh rotates, and reuse ends the family': async () => {
    const old = await newSignIn('plain1');
    const next = await client.refresh(old, { resource: server.plain1.resource });
    assert.notEqual(next.refresh_token, old.refresh_token);
    assert.notEqual(next.access_token, old.access_token);
    assert.equal((await client.call(server.plain1.url, next.access_token, 'echo', { text: 'in' })).text, 'in');
    assert.equal((await client.refresh(old)).error, 'invalid_grant');
    assert.equal((await client.refresh(next)).error, 'invalid_grant');
    // Another sign-in of the same client is not touched.
    assert.ok((held.plain0 = await client.refresh(await tokensFor('plain0'))).access_token);
    delete held.plain1;
  },
  'tokens can be made to expire at once': async () => {
    const tokens = await tokensFor('plain0');
    await control('expire', { server: 'plain0' });
    const refused = await client.call(server.plain0.url, tokens.access_token, 'echo', { text: 'x' });
    assert.match(refused.challenge, /error="invalid_token"/);
    held.plain0 = await client.refresh(tokens);
    assert.equal((await client.call(server.plain0.url, held.plain0.access_token, 'echo', { text: 'x' })).status, 200);
  },
  'tokens expire by the clock when their lifetime is short': async () => {
    await tokensFor('plain0');
    await tokensFor('plain1');
    await control('settings', { access_token_seconds: '1' });
    held.plain0 = await client.refresh(held.plain0);
    held.plain1 = await client.refresh(held.plain1);
    await control('settings', { access_token_seconds: '3600' });
    assert.equal(held.plain0.expires_in, 1);
    await sleep(2100);
    for (const name of ['plain0', 'plain1']) {
      assert.equal((await client.call(server[name].url, held[name].access_token, 'echo', { text: 'x' })).status, 401);
      held[name] = await client.refresh(held[name]);
      assert.equal(held[name].expires_in, 3600);
    }
  },
  'revoked tokens are refused everywhere': async () => {
    const first = await newSignIn('plain0');
    assert.equal((await client.revoke(first.refresh_token)).status, 200);
    assert.equal((await client.refresh(first)).error, 'invalid_grant');
    for (const name of ['plain0', 'plain1']) {
      const tokens = await newSignIn(name);
      await control('revoke', { server: name });
      assert.equal((await client.call(server[name].url, tokens.access_token, 'echo', { text: 'x' })).status, 401);
      assert.equal((await client.refresh(tokens)).error, 'invalid_grant');
      delete held[name];
    }
  },
  'every fault of a refresh shows, once': async () => {
    let tokens = await newSignIn('plain0');
    const expected = {
      'error-in-200': (got) => assert.deepEqual([got.status, got.error], [200, 'invalid_grant']),
      'vendor-code': (got) => assert.deepEqual([got.status, got.error], [400, 'token_expired']),
      'invalid-grant': (got) => assert.equal(got.error, 'invalid_grant'),
      'not-json': (got) => assert.deepEqual([got.status, got.error, got.access_token], [400, undefined, undefined]),
      'bad-gateway': (got) => assert.equal(got.status, 502),
      unavailable: (got) => assert.equal(got.status, 503),
      'hang-up': (got) => assert.ok(got instanceof TypeError),
      'no-token-type': (got) => assert.ok(got.access_token && !got.token_type),
      'string-expires-in': (got) => assert.equal(got.expires_in, '3600'),
      'no-expires-in': (got) => assert.ok(got.access_token && !('expires_in' in got)),
      'no-refresh-token': (got) => assert.ok(got.access_token && !got.refresh_token),
    };
    for (const [kind, check] of Object.entries(expected)) {
      await control('fault', { kind });
      const got = await client.refresh(tokens).catch((error) => error);
      check(got);
      const after = await client.refresh(got.refresh_token ? got : tokens);
      assert.ok(after.access_token, `${kind} has spoiled what came after it: ${JSON.stringify(after)}`);
      tokens = after;
    }
    await control('fault', { kind: 'lost-answer' });
    await assert.rejects(client.refresh(tokens));
    assert.equal((await client.refresh(tokens)).error, 'invalid_grant', 'the token was used up');
    await control('fault', { kind: 'no-token-type', grant: 'any' });
    const first = await newSignIn('plain0');
    assert.ok(first.access_token && !first.token_type);
    assert.equal((await control('state')).fault.times, 0);
    delete held.plain0;
  },
  'of two refreshes at once only one is served': async () => {
    const tokens = await newSignIn('plain0');
    await control('settings', { token_delay_ms: '50' });
    const both = await Promise.all([client.refresh(tokens), client.refresh(tokens)]);
    await control('settings', { token_delay_ms: '0' });
    assert.equal(both.filter((one) => one.error === 'invalid_grant').length, 1, JSON.stringify(both));
    delete held.plain0;
  },
  'a restart keeps what it is told to keep': async () => {
    let tokens = await newSignIn('plain0');
    await control('stop');
    await assert.rejects(client.refresh(tokens));
    await control('start');
    tokens = await client.refresh(tokens);
    await control('restart', { keys: 'new' });
    assert.equal((await client.call(server.plain0.url, tokens.access_token, 'echo', { text: 'x' })).status, 401);
    tokens = await client.refresh(tokens);
    assert.equal((await client.call(server.plain0.url, tokens.access_token, 'echo', { text: 'x' })).status, 200);
    await control('restart', { forget: 'clients' });
    assert.equal((await client.refresh(tokens)).error, 'invalid_client');
    await client.register();
    const again = await newSignIn('plain0');
    assert.equal(again.browsed.passwords, 0, 'the session outlived the registration');
    await control('restart', { forget: 'everything' });
    await client.register();
    assert.equal((await newSignIn('plain0')).browsed.passwords, 1);
    delete held.plain1;
    bound.id = undefined;
  },
  'DPoP: tokens are bound, proofs are verified': async () => {
    await bound.bind();
    const tokens = await newSignIn('dpop', bound);
    assert.equal(tokens.token_type, 'DPoP');
    const url = server.dpop.url;
    assert.equal((await bound.call(url, tokens.access_token, 'echo', { text: 'proved' })).text, 'proved');
    const refuse = async (change, why) => {
      const refused = await bound.call(url, tokens.access_token, 'echo', { text: 'x' }, change);
      assert.equal(refused.status, 401);
      assert.match(refused.challenge, why);
    };
    await refuse({ scheme: 'Bearer' }, /as a bearer token/);
    await refuse({ claims: { htu: 'http://127.0.0.1/mcp' } }, /htu is/);
    await refuse({ claims: { ath: 'x' } }, /ath is/);
    await refuse({ claims: { jti: 'again' } }, /used before/);
    const { key, jwk } = bound;
    await bound.bind();
    await refuse({}, /another one/);
    assert.equal((await bound.refresh(tokens)).error, 'invalid_grant', 'the refresh token is bound as well');
    Object.assign(bound, { key, jwk });
    const next = await bound.refresh(tokens);
    assert.equal((await bound.call(url, next.access_token, 'echo', { text: 'x' })).status, 200);
    const plain = await client.signIn({ resource: server.dpop.resource, browse: quickly });
    assert.equal((await client.call(url, plain.access_token, 'echo', { text: 'x' })).status, 401);
  },
  'DPoP: nonces are asked for at both ends': async () => {
    if (!bound.key) await bound.bind();
    bound.nonces.clear();
    const tokens = await newSignIn('dpopnonce', bound, person);
    assert.ok(tokens.asked_for_nonce);
    const call = () => bound.call(server.dpopnonce.url, tokens.access_token, 'echo', { text: 'x' });
    await control('clear');
    assert.equal((await call()).status, 200);
    assert.equal((await counts())['servers.dpopnonce.refused_401'], 1);
    assert.equal((await call()).status, 200);
    assert.equal((await counts())['servers.dpopnonce.refused_401'], 1, 'the nonce is good until it changes');
    await control('nonce');
    assert.equal((await call()).status, 200);
    assert.equal((await counts())['servers.dpopnonce.refused_401'], 2);
  },
  'step-up: 403 names the scope that is missing': async () => {
    const { url, resource } = server.stepup;
    const tokens = await newSignIn('stepup');
    assert.equal(tokens.scope, 'mcp:read');
    assert.equal((await client.call(url, tokens.access_token, 'echo', { text: 'x' })).status, 200);
    const refused = await client.call(url, tokens.access_token, 'write', { text: 'x' });
    assert.equal(refused.status, 403);
    assert.match(refused.challenge, /error="insufficient_scope".*scope="mcp:write"/);
    const more = await client.signIn({ resource, scope: 'mcp:read mcp:write', browse: person });
    assert.equal((await client.call(url, more.access_token, 'write', { text: 'it' })).text, 'wrote it');
    const less = await client.signIn({ resource, scope: 'mcp:write', browse: quickly });
    assert.equal((await client.call(url, less.access_token)).status, 403, 'without the union reading is lost');
    assert.equal((await client.refresh(more, { scope: 'mcp:read mcp:write' })).scope, 'mcp:read mcp:write');
  },
  'a lazy server lists its tools to anybody': async () => {
    const { url, resource } = server.lazy;
    assert.equal((await client.call(url)).result.tools.length, 3);
    assert.equal((await client.call(url, undefined, 'echo', { text: 'x' })).status, 401);
    await tokensFor('plain0');
    const tokens = await client.signIn({ resource, browse: quickly });
    assert.equal((await client.call(url, tokens.access_token, 'echo', { text: 'x' })).text, 'x');
  },
  'two servers of one resource take one token': async () => {
    await tokensFor('plain0');
    assert.equal(server.shared1.resource, server.shared2.resource);
    const tokens = await client.signIn({ resource: server.shared1.resource, browse: quickly });
    for (const name of ['shared1', 'shared2']) {
      assert.equal((await client.call(server[name].url, tokens.access_token, 'echo', { text: name })).text, name);
      const path = new URL(server[name].url).pathname;
      const found = await (await fetch(new URL(`/.well-known/oauth-protected-resource${path}`, server[name].url))).json();
      assert.equal(found.resource, server.shared1.resource);
    }
  },
  'a quiet server and a forbidding one refuse in their ways': async () => {
    const quiet = await client.call(server.quiet.url);
    assert.equal(quiet.status, 401);
    assert.doesNotMatch(quiet.challenge, /resource_metadata/);
    const forbidding = await client.call(server.forbidding.url);
    assert.equal(forbidding.status, 403);
    assert.match(forbidding.challenge, /resource_metadata/);
  },
  'a person can say no': async () => {
    await tokensFor('plain0');
    const { browsed, came } = await client.authorize({ resource: server.plain0.resource, browse: (url) => browser(url, '--profile', profile, '--deny') });
    assert.equal(browsed.code, 0);
    assert.deepEqual([came.error, came.iss], ['access_denied', world.issuer]);
  },
  'a wrong password leads nowhere': async () => {
    await tokensFor('plain0');
    const { browsed, came } = await client.authorize({ resource: server.plain0.resource, browse: (url) => browser(url, '--password', 'wrong') });
    assert.equal(browsed.code, 1);
    assert.match(browsed.text, /Wrong name or password/);
    assert.equal(came, undefined);
  },
  'a client is known by its metadata document': async () => {
    const documented = new PlainClient(metadata, jose);
    documented.id = world.client_document;
    const before = (await counts()).registrations;
    const tokens = await documented.signIn({ resource: server.plain2.resource, browse: quickly });
    assert.equal((await documented.call(server.plain2.url, tokens.access_token, 'echo', { text: 'x' })).text, 'x');
    assert.equal((await counts()).registrations, before);
  },
  'a configured client has its secret or its key': async () => {
    const pair = await jose.generateKeyPair('PS256', { extractable: true });
    const base = { grant_types: ['client_credentials'], redirect_uris: [], response_types: [] };
    await control('client', { ...base, client_id: 'robot', client_secret: 's3cret/+', token_endpoint_auth_method: 'client_secret_basic' });
    await control('client', {
      ...base, client_id: 'signer', token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'PS256',
      jwks: { keys: [await jose.exportJWK(pair.publicKey)] },
    });
    const parameters = { grant_type: 'client_credentials', resource: server.plain0.resource, scope: 'mcp:read' };
    const ask = async (headers, more) =>
      (await fetch(metadata.token_endpoint, { method: 'POST', headers, body: new URLSearchParams({ ...parameters, ...more }) })).json();
    const basic = (secret) => ({ authorization: `Basic ${btoa(`robot:${encodeURIComponent(secret)}`)}` });
    const robot = await ask(basic('s3cret/+'), {});
    assert.equal((await client.call(server.plain0.url, robot.access_token, 'echo', { text: 'x' })).text, 'x');
    assert.equal((await ask(basic('other'), {})).error, 'invalid_client');
    const assertion = await new jose.SignJWT({ jti: crypto.randomUUID() }).setProtectedHeader({ alg: 'PS256' }).setIssuer('signer').setSubject('signer')
      .setAudience(world.issuer).setIssuedAt().setExpirationTime('1m').sign(pair.privateKey);
    const signer = await ask({}, { client_assertion: assertion, client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' });
    assert.equal((await client.call(server.plain0.url, signer.access_token, 'echo', { text: 'x' })).text, 'x');
  },
  'the TypeScript SDK signs in by itself, in both eras': async () => {
    const { Client, StreamableHTTPClientTransport, UnauthorizedError } = require('@modelcontextprotocol/client');
    for (const name of ['plain2', 'plain3']) {
      const kept = {};
      let left;
      const provider = {
        redirectUrl: 'http://127.0.0.1:1/callback',
        clientMetadata: {
          client_name: 'SDK', application_type: 'native', redirect_uris: ['http://127.0.0.1:1/callback'], token_endpoint_auth_method: 'none',
          grant_types: ['authorization_code', 'refresh_token'],
        },
        clientInformation: () => kept.client,
        saveClientInformation: (value) => void (kept.client = value),
        tokens: () => kept.tokens,
        saveTokens: (value) => void (kept.tokens = value),
        saveCodeVerifier: (value) => void (kept.verifier = value),
        codeVerifier: () => kept.verifier,
        saveDiscoveryState: (value) => void (kept.discovery = value),
        discoveryState: () => kept.discovery,
        // Nobody listens there: where the last redirect leads to is all that is needed.
        redirectToAuthorization: async (url) => void ({ left } = await hands.follow(url.href)),
      };
      const transport = () => new StreamableHTTPClientTransport(new URL(server[name].url), { authProvider: provider });
      const sdk = () => new Client({ name: 'selftest', version: '1' }, { versionNegotiation: { mode: 'auto' } });
      const refused = transport();
      await assert.rejects(sdk().connect(refused), UnauthorizedError);
      await refused.finishAuth(new URL(left).searchParams);
      const signedIn = sdk();
      await signedIn.connect(transport());
      assert.equal((await signedIn.callTool({ name: 'echo', arguments: { text: name } })).content[0].text, name);
      assert.equal(signedIn.getProtocolEra(), server[name].era === 'both' ? 'modern' : 'legacy');
      const old = kept.tokens.access_token;
      await control('expire', { server: name });
      assert.equal((await signedIn.callTool({ name: 'echo', arguments: { text: 'again' } })).content[0].text, 'again');
      assert.notEqual(kept.tokens.access_token, old);
      await signedIn.close();
    }
  },
  'the opener returns at once and two windows of a profile take turns': async () => {
    await tokensFor('plain0');
    const log = join(scratch, 'browser.log');
    writeFileSync(log, '');
    const env = {
      ...process.env, PATCHBAY_NODE: process.execPath, BROWSER_USER: world.user, BROWSER_PASSWORD: world.password,
      BROWSER_PROFILE: profile, BROWSER_LOG: log,
    };
    const open = (url) => new Promise((done) => {
      spawn(join(here, 'browser_opener.sh'), [url], { env, stdio: 'ignore' }).on('exit', () => done({ lines: readFileSync(log, 'utf8') }));
    });
    const windows = ['plain0', 'plain2'].map((name) => client.authorize({ resource: server[name].resource, browse: open, patience: 20_000 }));
    for (const { browsed, came } of await Promise.all(windows)) {
      assert.equal(browsed.lines, '', 'it did not wait for the window');
      assert.ok(came.code);
    }
    while (readFileSync(log, 'utf8').trim().split('\n').length < 2) await sleep(20);
    for (const line of readFileSync(log, 'utf8').trim().split('\n')) assert.match(JSON.parse(line).text, /Signed in/);
  },
  'a browser that stays open is used by the others of its profile': async () => {
    const words = [join(here, 'browser.mjs'), '--stay', '--profile', profile, '--user', world.user];
    const open = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'], env: typing });
    assert.equal(await new Promise((done) => createInterface({ input: open.stdout }).once('line', done)), 'ready');
    // It keeps the profile: another browser would wait for it in vain.
    for (const name of ['plain0', 'plain1', 'plain2', 'plain3']) assert.equal((await newSignIn(name, client, person)).browsed.code, 0);
    open.stdin.end();
    assert.equal(await new Promise((done) => open.on('close', done)), 0);
    assert.equal((await newSignIn('plain0', client, person)).browsed.passwords, 0, 'the cookies were kept');
  },
  'verify_jwt tells good from bad': async () => {
    const cases = [];
    const add = (ok, given) => cases.push([ok, JSON.stringify(given)]);
    for (const alg of ['ES256', 'RS256', 'PS256']) {
      const pair = await jose.generateKeyPair(alg, { extractable: true });
      const token = await new jose.SignJWT({}).setProtectedHeader({ alg, typ: 'JWT' }).setIssuer('me').setAudience('you')
        .setExpirationTime('1m').sign(pair.privateKey);
      const given = { kind: 'jws', token, key: await jose.exportJWK(pair.publicKey), alg, issuer: 'me', audience: 'you' };
      add(true, given);
      add(true, { ...given, key: undefined, pem: await jose.exportSPKI(pair.publicKey) });
      add(false, { ...given, audience: 'they' });
      const [head, payload, signature] = token.split('.');
      add(false, { ...given, token: `${head}.${payload}.${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}` });
    }
    const prover = new PlainClient(metadata, jose);
    await prover.bind();
    const { dpop: token } = await prover.proof('POST', 'https://a.example/mcp', 'tok');
    const proof = { kind: 'dpop', token, method: 'POST', url: 'https://a.example/mcp', access_token: 'tok' };
    add(true, proof);
    const others = [{ method: 'GET' }, { url: 'https://b.example/mcp' }, { access_token: 'other' }, { access_token: undefined }, { nonce: 'n' }];
    for (const other of others) add(false, { ...proof, ...other });
    // RFC 7638, section 3.1.
    const rsa = {
      kty: 'RSA', e: 'AQAB',
      n: '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
    };
    add(true, { kind: 'thumbprint', key: rsa, thumbprint: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' });
    add(false, { kind: 'thumbprint', key: rsa, thumbprint: 'x' });
    add(false, { kind: 'other' });
    const child = spawn(process.execPath, [join(here, 'verify_jwt.mjs')], { stdio: ['pipe', 'pipe', 'inherit'] });
    child.stdin.end(cases.map(([, line]) => line).join('\n'));
    const answers = [];
    for await (const line of createInterface({ input: child.stdout })) answers.push(JSON.parse(line));
    assert.deepEqual(answers.map(({ ok }) => ok), cases.map(([ok]) => ok), JSON.stringify(answers));
  },
  'the control interface refuses what it does not know': async () => {
    await assert.rejects(control('fault', { kind: 'flood' }), /no fault flood/);
    await assert.rejects(control('expire', { server: 'nobody' }), /no server nobody/);
    await assert.rejects(control('settings', { colour: '1' }), /no setting colour/);
    await assert.rejects(control('dance'), /no command .dance/);
  },
  'the world ends with its stdin': async () => {
    const ended = new Promise((done) => running.on('close', done));
    running.stdin.end();
    assert.equal(await ended, 0);
    await assert.rejects(fetch(world.issuer));
  },
};

const words = process.argv.slice(2);
let failed = 0;
let ran = 0;
for (const [name, check] of Object.entries(checks)) {
  if (words.length && !words.some((word) => name.includes(word))) continue;
  const started = Date.now();
  ++ran;
  const problem = await check().catch((error) => error);
  if (problem) ++failed;
  console.log(`[${problem ? '  FAILED  ' : '       OK '}] ${name} (${Date.now() - started} ms)${problem ? `\n${problem.stack}` : ''}`);
}
running.kill();
rmSync(scratch, { recursive: true, force: true });
console.log(`auth world: ${ran - failed}/${ran} in ${Date.now() - began} ms`);
process.exitCode = failed ? 1 : 0;
