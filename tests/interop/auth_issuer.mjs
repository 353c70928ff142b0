// The authorization server of auth_world.mjs: npm `oidc-provider`, as a vendor would set it up for MCP.
//
// Registration, client ID metadata documents, PKCE, one token per resource, rotation with reuse
// detection, revocation, DPoP. People sign in on a form and then allow or deny; the session cookie
// remembers who they are, and every client is allowed anew, as the provider wants it for native ones.
// Each sign-in is a grant of its own, so that what revokes one leaves the others alone.
//
// The store outlives the provider: that is what a restart is. Faults are put between the provider and
// the client, so what goes wrong is on the wire only.
import { createServer } from 'node:http';
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

export const fingerprint = (token) => createHash('sha256').update(token).digest('hex').slice(0, 16);

const granted = new Set(['AccessToken', 'AuthorizationCode', 'RefreshToken']);

// What the provider keeps, by kind; forget() is how a vendor loses it.
export class Store {
  kinds = new Map();
  of(kind) {
    if (!this.kinds.has(kind)) this.kinds.set(kind, new Map());
    return this.kinds.get(kind);
  }
  forget(...kinds) {
    for (const kind of kinds.length ? kinds : [...this.kinds.keys()]) this.kinds.delete(kind);
  }
  // Everything that was granted for a resource, or all of it.
  revoke(resource) {
    for (const kind of granted) {
      for (const [id, kept] of this.of(kind)) {
        const about = [kept.resource, kept.aud].flat();
        if (!resource || about.includes(resource)) {
          this.of(kind).delete(id);
          if (kept.grantId) this.of('Grant').delete(kept.grantId);
        }
      }
    }
  }
  adapter() {
    const store = this;
    return class {
      constructor(kind) {
        this.kind = kind;
      }
      get kept() {
        return store.of(this.kind);
      }
      async upsert(id, payload) {
        this.kept.set(id, payload);
      }
      async find(id) {
        return this.kept.get(id);
      }
      async findByUid(uid) {
        return [...this.kept.values()].find((one) => one.uid === uid);
      }
      async findByUserCode() {
        return undefined;
      }
      async consume(id) {
        const kept = this.kept.get(id);
        if (kept) kept.consumed = Math.floor(Date.now() / 1000);
      }
      async destroy(id) {
        this.kept.delete(id);
      }
      async revokeByGrantId(grant) {
        if (!granted.has(this.kind)) return;
        for (const [id, kept] of this.kept) if (kept.grantId === grant) this.kept.delete(id);
      }
    };
  }
}

// What can be made to go wrong at the token endpoint. `before` ones leave the refresh token as it was.
const html = '<html><body><h1>502 Bad Gateway</h1></body></html>';
const answer = (status, body, type = 'application/json') => ({ status, body, type });
export const faults = {
  'error-in-200': { before: answer(200, { error: 'invalid_grant', error_description: 'the refresh token is not valid' }) },
  'vendor-code': { before: answer(400, { error: 'token_expired', error_description: 'Token has expired' }) },
  'invalid-grant': { before: answer(400, { error: 'invalid_grant', error_description: 'made to fail' }) },
  'not-json': { before: answer(400, html, 'text/html') },
  'bad-gateway': { before: answer(502, html, 'text/html') },
  unavailable: { before: answer(503, { error: 'temporarily_unavailable' }) },
  'hang-up': { before: 'destroy' },
  // The new tokens exist, the old refresh token is used up, and the answer never arrives.
  'lost-answer': { after: 'destroy' },
  'no-token-type': { after: (body) => delete body.token_type },
  'string-expires-in': { after: (body) => (body.expires_in = String(body.expires_in)) },
  'no-expires-in': { after: (body) => delete body.expires_in },
  // A vendor that does not rotate and says so by silence.
  'no-refresh-token': { keep: true, after: (body) => delete body.refresh_token },
};

const escaped = (text) => String(text).replace(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
const page = (title, body) =>
  `<!DOCTYPE html><html><head><meta charset="utf-8"><title>${title}</title></head><body><h1>${title}</h1>${body}</body></html>`;
const loginPage = (complaint) => page('Sign in', `${complaint ? `<p id="complaint">${complaint}</p>` : ''}
  <form method="post"><input name="user" autocomplete="username" autofocus>
  <input name="password" type="password" autocomplete="current-password">
  <button name="answer" value="login">Sign in</button></form>`);
const consentPage = (client, resource, scopes) => page('Allow access', `
  <p><b id="client">${escaped(client)}</b> asks for <b id="scopes">${escaped(scopes)}</b> at <b id="resource">${escaped(resource)}</b>.</p>
  <form method="post"><button name="answer" value="allow">Allow</button>
  <button name="answer" value="deny">Deny</button></form>`);

async function form(request) {
  let text = '';
  for await (const part of request) {
    text += part;
    if (text.length > 10_000) throw new Error('the form is too large');
  }
  return new URLSearchParams(text);
}

export class Issuer {
  // world: settings, tally, person, without, resources (identifier -> { format, scopes, nonce }),
  // issued (fingerprint -> what was issued), documents (client ID metadata by URL)
  constructor(world, require) {
    this.world = world;
    this.oidc = require('oidc-provider');
    this.jose = require('jose');
    this.store = new Store();
    this.nonceSecret = randomBytes(32);
    this.cookieKey = randomBytes(16).toString('hex');
    this.windows = new Set();
    this.port = 0;
  }

  async start() {
    if (!this.key) await this.newKey();
    this.server = createServer((request, response) => this.serve(request, response));
    await new Promise((done, failed) => {
      this.server.once('error', failed);
      this.server.listen(this.port, '127.0.0.1', done);
    });
    this.port = this.server.address().port;
    this.url = `http://127.0.0.1:${this.port}`;
    this.provider = this.makeProvider();
    this.handler = this.provider.callback();
  }

  async stop() {
    if (!this.server) return;
    const ended = new Promise((done) => this.server.close(done));
    this.server.closeAllConnections();
    this.server = undefined;
    await ended;
  }

  async newKey() {
    const pair = await this.jose.generateKeyPair('ES256', { extractable: true });
    this.key = { ...(await this.jose.exportJWK(pair.privateKey)), use: 'sig', alg: 'ES256', kid: randomBytes(4).toString('hex') };
    this.publicKey = pair.publicKey;
  }

  makeProvider() {
    const { world } = this;
    const { settings, without } = world;
    const offers = (feature, how = {}) => (without.has(feature) ? { enabled: false } : { enabled: true, ...how });
    const { interactionPolicy, Provider, errors } = this.oidc;
    const provider = new Provider(this.url, {
      adapter: this.store.adapter(),
      jwks: { keys: [this.key] },
      cookies: { keys: [this.cookieKey] },
      clockTolerance: 5,
      scopes: ['openid', 'offline_access', 'mcp:read', 'mcp:write'],
      routes: { authorization: '/authorize', registration: '/register', revocation: '/revoke' },
      responseTypes: ['code'],
      clientDefaults: { id_token_signed_response_alg: 'ES256' },
      enabledJWA: { idTokenSigningAlgValues: ['ES256'], dPoPSigningAlgValues: ['ES256'] },
      pkce: { required: () => true },
      conformIdTokenClaims: false,
      features: {
        devInteractions: { enabled: false },
        registration: offers('registration'),
        revocation: offers('revocation', { allowedPolicy: (ctx, client, token) => token.clientId === client.clientId }),
        clientCredentials: { enabled: true },
        rpInitiatedLogout: { enabled: false },
        pushedAuthorizationRequests: { enabled: false },
        clientIdMetadataDocument: offers('cimd', { ack: 'draft-02' }),
        dPoP: offers('dpop', {
          nonceSecret: this.nonceSecret,
          requireNonce: (ctx) => world.resources.get(String(ctx.oidc.params?.resource))?.nonce ?? false,
        }),
        resourceIndicators: {
          enabled: true,
          useGrantedResource: () => true,
          getResourceServerInfo: (ctx, identifier) => {
            const resource = world.resources.get(identifier);
            if (!resource) throw new errors.InvalidTarget();
            return {
              audience: identifier,
              scope: resource.scopes.join(' '),
              accessTokenFormat: resource.format,
              accessTokenTTL: settings.access_token_seconds,
              ...(resource.format === 'jwt' ? { jwt: { sign: { alg: 'ES256' } } } : {}),
            };
          },
        },
      },
      ttl: {
        AccessToken: () => settings.access_token_seconds,
        ClientCredentials: () => settings.access_token_seconds,
        RefreshToken: () => settings.refresh_token_seconds,
        AuthorizationCode: () => 60,
        IdToken: () => 3600,
        Interaction: () => 600,
        Session: () => 86400,
        Grant: () => 86400,
      },
      expiresWithSession: () => false,
      issueRefreshToken: (ctx, client) => client.grantTypeAllowed('refresh_token'),
      rotateRefreshToken: (ctx) => {
        const fault = this.takeFault(ctx, 'refresh_token');
        if (fault?.before) throw new errors.InvalidGrant('made to fail');
        return settings.rotate && !fault?.keep;
      },
      // A grant for each sign-in: the session's last one is not looked at.
      loadExistingGrant: async (ctx) => {
        const id = ctx.oidc.result?.consent?.grantId;
        return id ? provider.Grant.find(id) : undefined;
      },
      revokeGrantPolicy: () => true,
      interactions: { policy: interactionPolicy.base(), url: (ctx, { uid }) => `/interaction/${uid}` },
      findAccount: (ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      // Nothing is fetched from anywhere: the documents are those the test has put there.
      fetch: async (url) => {
        world.tally.count('client_documents');
        const document = world.documents.get(String(url));
        return document ? Response.json(document) : new Response('', { status: 404 });
      },
      renderError: (ctx, out) => {
        ctx.type = 'html';
        ctx.body = page('Sign-in failed', `<p id="error">${escaped(out.error)}: ${escaped(out.error_description ?? '')}</p>`);
      },
    });
    provider.use((ctx, next) => this.watch(ctx, next));
    provider.on('server_error', (ctx, error) => console.error(`server_error: ${error.stack}`));
    return provider;
  }

  // The fault that this request meets, if any. A refresh takes it when it would be answered with new
  // tokens: what fails by itself is let through.
  takeFault(ctx, grant) {
    const set = this.world.fault;
    if (!set?.times || (set.grant !== 'any' && set.grant !== grant)) return undefined;
    --set.times;
    ctx.state.fault = set.kind;
    return faults[set.kind];
  }

  async watch(ctx, next) {
    const { tally } = this.world;
    if (ctx.path.startsWith('/.well-known/')) tally.count('issuer_metadata');
    if (ctx.path === '/authorize') tally.count('authorizations');
    if (ctx.path === '/register') tally.count('registrations');
    if (ctx.path === '/revoke') tally.count('revocations');
    if (ctx.path === '/token') await this.inTurn(next);
    else await next();
    const params = ctx.oidc?.params ?? {};
    if (ctx.path.startsWith('/authorize')) this.trackWindow(ctx, params);
    if (ctx.path === '/register') {
      const { client_id, application_type, redirect_uris } = ctx.body ?? {};
      tally.event('registration', { status: ctx.status, client_id, application_type, redirect_uris });
    }
    if (ctx.path === '/revoke') tally.event('revocation', { status: ctx.status, token: params.token && fingerprint(params.token) });
    if (ctx.path === '/token') this.finishToken(ctx, params);
  }

  // Token requests are served one after the other, as a database would have it: a refresh token is
  // good for one of two that come at once.
  async inTurn(next) {
    await sleep(this.world.settings.token_delay_ms);
    const before = this.turn;
    let done;
    this.turn = new Promise((ended) => (done = ended));
    await before;
    await next().finally(done);
  }

  // A window is open from the request of the client to the answer it is sent back with.
  trackWindow(ctx, params) {
    const { tally } = this.world;
    const window = params.code_challenge ?? params.state ?? 'nameless';
    const target = ctx.response.get('location');
    if (ctx.path === '/authorize') {
      this.windows.add(window);
      tally.most('windows_at_once', this.windows.size);
      tally.event('authorization', { client_id: params.client_id, resource: params.resource, scope: params.scope, redirect_uri: params.redirect_uri });
    }
    if (!target.startsWith('/interaction/')) {
      this.windows.delete(window);
      const given = URL.canParse(target) ? new URL(target).searchParams : new URLSearchParams();
      tally.event('authorization answered', { status: ctx.status, resource: params.resource, error: given.get('error') ?? ctx.body?.error });
    }
  }

  finishToken(ctx, params) {
    const { tally, issued } = this.world;
    const grant = params.grant_type ?? 'none';
    tally.count(`token.${grant}`);
    const body = ctx.body ?? {};
    if (grant !== 'refresh_token' && body.access_token) this.takeFault(ctx, grant);
    for (const secret of [body.access_token, body.refresh_token, body.id_token, params.code, params.code_verifier, params.client_secret]) {
      this.world.plant(secret);
    }
    const fault = faults[ctx.state.fault];
    const { AccessToken, ClientCredentials } = ctx.oidc.entities;
    // A refresh need not say which resource it is for.
    const resource = (AccessToken ?? ClientCredentials)?.resourceServer?.identifier() ?? params.resource;
    if (body.access_token) {
      issued.set(fingerprint(body.access_token), { resource, alive: true });
    } else {
      tally.count(`token_errors.${body.error}`);
    }
    tally.event('token', {
      grant, status: ctx.status, error: body.error, resource, asked_resource: params.resource, asked_scope: params.scope, scope: body.scope,
      client_id: ctx.oidc.client?.clientId, fault: ctx.state.fault,
      access_token: body.access_token && fingerprint(body.access_token),
      refresh_token: body.refresh_token && fingerprint(body.refresh_token),
      used_refresh_token: params.refresh_token && fingerprint(params.refresh_token),
    });
    if (!fault) return;
    const change = fault.before ?? fault.after;
    if (change === 'destroy') {
      ctx.respond = false;
      ctx.req.socket.destroy();
    } else if (typeof change === 'function') {
      if (body.access_token) change(body);
    } else {
      ctx.status = change.status;
      ctx.body = change.body;
      ctx.type = change.type;
    }
  }

  async serve(request, response) {
    if (!request.url.startsWith('/interaction/')) return this.handler(request, response);
    try {
      await this.interact(request, response);
    } catch (error) {
      response.writeHead(400, { 'content-type': 'text/html' });
      response.end(page('Sign-in failed', `<p id="error">${escaped(error.message)}</p>`));
    }
  }

  async interact(request, response) {
    const { provider, world } = this;
    const { tally, person } = world;
    const details = await provider.interactionDetails(request, response);
    const { prompt, params, session } = details;
    const show = (body) => response.writeHead(200, { 'content-type': 'text/html', 'cache-control': 'no-store' }).end(body);
    const client = await provider.Client.find(params.client_id);
    const scopes = params.scope ?? '';
    if (request.method === 'GET') {
      tally.count(`pages.${prompt.name}`);
      return show(prompt.name === 'login' ? loginPage() : consentPage(client.clientName ?? client.clientId, params.resource ?? 'no resource', scopes));
    }
    const given = await form(request);
    const finish = (result) => provider.interactionFinished(request, response, result, { mergeWithLastSubmission: true });
    if (prompt.name === 'login') {
      if (given.get('user') !== person.user || given.get('password') !== person.password) {
        tally.count('wrong_passwords');
        return show(loginPage('Wrong name or password.'));
      }
      tally.count('passwords');
      return finish({ login: { accountId: person.user } });
    }
    if (given.get('answer') !== 'allow') {
      tally.count('denials');
      return finish({ error: 'access_denied', error_description: 'The person said no' });
    }
    tally.count('consents');
    const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
    if (scopes) grant.addOIDCScope(scopes);
    for (const resource of [params.resource ?? []].flat()) grant.addResourceScope(resource, scopes);
    return finish({ consent: { grantId: await grant.save() } });
  }
}
