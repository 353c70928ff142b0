// The smallest OAuth client and MCP caller that will do, on fetch alone: what auth_world_selftest.mjs
// tries the world with. It checks nothing; the test does.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const json = async (response) => ({ status: response.status, headers: response.headers, ...(await response.json().catch(() => ({}))) });
const hash = (text) => createHash('sha256').update(text).digest('base64url');

export const metadataOf = async (issuer) => (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();

// A browser's part without a browser, where the browser is not what is looked at: follows redirects,
// keeps cookies, and answers the forms of auth_issuer.mjs.
export class Hands {
  cookies = new Map();
  constructor(user, password) {
    Object.assign(this, { user, password });
  }
  async go(url, body) {
    const response = await fetch(url, {
      redirect: 'manual', method: body ? 'POST' : 'GET', body,
      headers: { cookie: [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      if (value) this.cookies.set(name, value);
      else this.cookies.delete(name);
    }
    return response;
  }
  // Up to where it leaves the authorization server, or the page of it that leads no further. Cookies have
  // paths; keeping those of an earlier sign-in's pages does no harm.
  async follow(url) {
    const issuer = new URL(url).origin;
    const seen = { passwords: 0, consents: 0 };
    let response = await this.go(url);
    for (;;) {
      const to = response.headers.get('location');
      if (to) {
        url = new URL(to, url).href;
        if (new URL(url).origin !== issuer) return { left: url, ...seen };
        response = await this.go(url);
        continue;
      }
      const text = await response.text();
      if (text.includes('type="password"')) {
        ++seen.passwords;
        response = await this.go(url, new URLSearchParams({ user: this.user, password: this.password }));
      } else if (text.includes('value="allow"')) {
        ++seen.consents;
        response = await this.go(url, new URLSearchParams({ answer: 'allow' }));
      } else {
        return { text, ...seen };
      }
    }
  }
  async browse(url) {
    const { left, ...seen } = await this.follow(url);
    return left ? { ...seen, text: await (await fetch(left)).text() } : seen;
  }
}

export class PlainClient {
  constructor(metadata, jose) {
    Object.assign(this, { metadata, jose, nonces: new Map() });
  }

  async register(redirect = 'http://127.0.0.1/callback') {
    const answer = await fetch(this.metadata.registration_endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'Plain', application_type: 'native', redirect_uris: [redirect], token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
      }),
    });
    const registered = await json(answer);
    this.id = registered.client_id;
    return registered;
  }

  // The key that tokens are bound to from now on.
  async bind() {
    this.key = await this.jose.generateKeyPair('ES256', { extractable: true });
    this.jwk = await this.jose.exportJWK(this.key.publicKey);
  }

  // The header with a proof, if there is a key; `change` spoils the claims.
  async proof(method, url, token, change = {}) {
    if (!this.key) return {};
    const nonce = this.nonces.get(new URL(url).origin);
    const claims = { htm: method, htu: url, jti: randomUUID(), ...(token ? { ath: hash(token) } : {}), ...(nonce ? { nonce } : {}), ...change };
    const signed = await new this.jose.SignJWT(claims).setIssuedAt()
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: this.jwk }).sign(this.key.privateKey);
    return { dpop: signed };
  }

  remember(url, response) {
    const nonce = response.headers.get('dpop-nonce');
    if (nonce) this.nonces.set(new URL(url).origin, nonce);
    return response;
  }

  async token(parameters) {
    const url = this.metadata.token_endpoint;
    const ask = async () => this.remember(url, await fetch(url, {
      method: 'POST', headers: await this.proof('POST', url), body: new URLSearchParams({ client_id: this.id, ...parameters }),
    }));
    let answer = await json(await ask());
    if (answer.error === 'use_dpop_nonce') answer = { ...(await json(await ask())), asked_for_nonce: true };
    return answer;
  }

  refresh(tokens, more = {}) {
    return this.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token, ...more });
  }

  revoke(token) {
    return fetch(this.metadata.revocation_endpoint, { method: 'POST', body: new URLSearchParams({ client_id: this.id, token }) });
  }

  // Up to the callback: `browse` opens the URL, and the callback may come up to `patience` ms after it
  // is done. Gives the parameters that came back and the request the code is exchanged with.
  async authorize({ resource, scope = 'mcp:read', browse, leaveOut = [], patience = 0 }) {
    let arrived;
    const callback = new Promise((done) => (arrived = done));
    const listener = createServer((request, response) => {
      const url = new URL(request.url, 'http://callback');
      response.writeHead(url.pathname === '/callback' ? 200 : 404, { 'content-type': 'text/html' });
      response.end('<p>Signed in. You can close this window.</p>');
      if (url.pathname === '/callback') arrived(Object.fromEntries(url.searchParams));
    });
    await new Promise((done) => listener.listen(0, '127.0.0.1', done));
    const redirect = `http://127.0.0.1:${listener.address().port}/callback`;
    const verifier = randomBytes(32).toString('base64url');
    const state = randomBytes(8).toString('hex');
    const parameters = {
      response_type: 'code', client_id: this.id, redirect_uri: redirect, code_challenge: hash(verifier), code_challenge_method: 'S256',
      state, resource, scope,
    };
    for (const name of leaveOut) delete parameters[name];
    const browsed = await browse(`${this.metadata.authorization_endpoint}?${new URLSearchParams(parameters)}`);
    const came = await Promise.race([callback, sleep(patience, undefined, { ref: false })]);
    listener.closeAllConnections();
    listener.close();
    return { browsed, came, state, exchange: { grant_type: 'authorization_code', code: came?.code, redirect_uri: redirect, code_verifier: verifier, resource } };
  }

  async signIn(how) {
    const { browsed, came, exchange } = await this.authorize(how);
    return { browsed, came, ...(await this.token(exchange)) };
  }

  // One call of a tool, in the legacy era; the status and the challenge if it was refused on the way.
  async call(server, token, name, given = {}, change = {}) {
    const send = async (message, session) => {
      const post = async () => this.remember(server, await fetch(server, {
        method: 'POST',
        headers: {
          'content-type': 'application/json', accept: 'application/json, text/event-stream', ...(session ? { 'mcp-session-id': session } : {}),
          ...(token ? { authorization: `${change.scheme ?? (this.key ? 'DPoP' : 'Bearer')} ${token}` } : {}),
          ...(token ? await this.proof('POST', server, token, change.claims) : {}),
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }));
      const first = await post();
      return first.headers.get('www-authenticate')?.includes('use_dpop_nonce') ? post() : first;
    };
    const refused = (response) => ({ status: response.status, challenge: response.headers.get('www-authenticate') });
    const hello = await send({
      id: 1, method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'plain', version: '1' } },
    });
    if (!hello.ok) return refused(hello);
    await hello.text();
    const session = hello.headers.get('mcp-session-id');
    await send({ method: 'notifications/initialized' }, session);
    const answer = await send({ id: 2, method: name ? 'tools/call' : 'tools/list', params: name ? { name, arguments: given } : {} }, session);
    if (!answer.ok) return refused(answer);
    const text = await answer.text();
    const data = answer.headers.get('content-type').startsWith('text/event-stream') ? text.split('\n').find((line) => line.startsWith('data: {')).slice(6) : text;
    const { result } = JSON.parse(data);
    return { status: answer.status, result, text: result.content?.[0].text };
  }
}
