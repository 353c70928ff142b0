// The protected MCP servers of auth_world.mjs: Streamable HTTP on the official TypeScript SDKs, each
// behind a guard that verifies tokens with npm `jose` as RFC 9068 and RFC 9449 ask for.
//
// Tools: `echo` (text), `whoami` (what the guard knows of the caller, as JSON) and `write`, which the
// step-up server gives only to those with mcp:write.
import { createServer } from 'node:http';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { fingerprint } from './auth_issuer.mjs';

const read = 'mcp:read';
const write = 'mcp:write';
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const tool = (name, properties) => ({ name, description: name, inputSchema: { type: 'object', properties, required: Object.keys(properties) } });
const tools = [tool('echo', { text: { type: 'string' } }), tool('whoami', {}), tool('write', { text: { type: 'string' } })];

// How the special ones differ from `plain`. A kind with two paths is two servers of one resource.
export const kinds = {
  plain: {},
  shared: { paths: ['/a/mcp', '/b/mcp'], resource: (origin) => origin },
  lazy: { openUntilCall: true }, // lists its tools to anybody, asks at tools/call
  stepup: { writeScope: true }, // 403 insufficient_scope at the tool `write`
  quiet: { namesMetadata: false }, // its 401 says nothing of where the metadata is
  forbidding: { refusal: 403 }, // says 403 where others say 401
  dpop: { dpop: true },
  dpopnonce: { dpop: true, nonce: true }, // and so does the token endpoint for it
};

class Refusal extends Error {
  constructor(status, error, message, more = {}) {
    super(message);
    Object.assign(this, { status, error, ...more });
  }
}

export class ProtectedServer {
  constructor(world, issuer, require, { name, kind, era, format }) {
    Object.assign(this, { world, issuer, require, name, kind, era, format, is: kinds[kind] });
    this.jose = require('jose');
    this.sessions = new Map();
    this.proofs = new Set();
    this.nonce = randomBytes(8).toString('hex');
  }

  async start() {
    this.http = createServer((request, response) => this.serve(request, response).catch((error) => {
      console.error(`${this.name}: ${error.stack}`);
      if (!response.headersSent) response.writeHead(500).end();
    }));
    await new Promise((done) => this.http.listen(0, '127.0.0.1', done));
    this.origin = `http://127.0.0.1:${this.http.address().port}`;
    this.paths = this.is.paths ?? ['/mcp'];
    this.resource = this.is.resource?.(this.origin) ?? `${this.origin}/mcp`;
    this.world.resources.set(this.resource, { format: this.format, scopes: [read, write], nonce: this.is.nonce });
    if (this.era === 'both') this.handler = this.modernHandler();
  }

  async stop() {
    const ended = new Promise((done) => this.http.close(done));
    this.http.closeAllConnections();
    await ended;
  }

  // What the line of the world says of it: an entry for each of its URLs.
  described() {
    return this.paths.map((path, index) => ({
      name: this.paths.length > 1 ? `${this.name}${index + 1}` : this.name,
      url: this.origin + path, resource: this.resource, kind: this.kind, era: this.era, tokens: this.format,
    }));
  }

  async serve(request, response) {
    const { tally } = this.world;
    const { pathname } = new URL(request.url, this.origin);
    const wellKnown = '/.well-known/oauth-protected-resource';
    if (pathname.startsWith(wellKnown)) {
      tally.count('resource_metadata');
      tally.count(`servers.${this.name}.metadata`);
      // RFC 9728: where the path of the server says, and nowhere else.
      if (!this.paths.includes(pathname.slice(wellKnown.length))) return response.writeHead(404).end();
      return this.json(response, 200, {
        resource: this.resource, authorization_servers: [this.issuer.url], scopes_supported: [read],
        bearer_methods_supported: ['header'], resource_name: this.name,
        ...(this.is.dpop ? { dpop_bound_access_tokens_required: true, dpop_signing_alg_values_supported: ['ES256'] } : {}),
      });
    }
    if (!this.paths.includes(pathname)) return response.writeHead(404).end();
    tally.count(`servers.${this.name}.requests`);
    const body = request.method === 'POST' ? await this.body(request) : undefined;
    let caller;
    try {
      caller = await this.admit(request, pathname, body);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      tally.count(`servers.${this.name}.refused_${error.status}`);
      tally.event('refused', { server: this.name, status: error.status, error: error.error, why: error.message, method: body?.method });
      return this.json(response, error.status, { error: error.error ?? 'unauthorized', error_description: error.message }, this.challenge(error, pathname));
    }
    if (this.is.nonce) response.setHeader('dpop-nonce', this.nonce);
    if (body?.method === 'tools/call') {
      tally.count(`servers.${this.name}.calls`);
      tally.event('call', { server: this.name, path: pathname, tool: body.params?.name, ...caller });
    }
    const auth = caller && { token: caller.fingerprint, clientId: String(caller.client_id), scopes: caller.scopes, extra: caller };
    if (this.era === 'both') return this.serveBoth(request, response, body, auth);
    return this.serveLegacy(request, response, body, auth);
  }

  json(response, status, body, headers = {}) {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  }

  async body(request) {
    let written = '';
    for await (const part of request) written += part;
    try {
      return JSON.parse(written);
    } catch {
      return undefined;
    }
  }

  challenge(refusal, path) {
    const said = {};
    if (refusal.error) Object.assign(said, { error: refusal.error, error_description: refusal.message });
    if (refusal.scope) said.scope = refusal.scope;
    if (this.is.dpop) said.algs = 'ES256';
    if (this.is.namesMetadata !== false) said.resource_metadata = `${this.origin}/.well-known/oauth-protected-resource${path}`;
    const parameters = Object.entries(said).map(([key, value]) => `${key}="${value}"`).join(', ');
    return {
      'www-authenticate': `${this.is.dpop ? 'DPoP' : 'Bearer'} ${parameters}`.trim(),
      ...(this.is.nonce ? { 'dpop-nonce': this.nonce } : {}),
    };
  }

  // Who may come in, as what is known of the caller; undefined where nobody has to say.
  async admit(request, path, body) {
    const given = request.headers.authorization;
    if (!given) {
      if (this.is.openUntilCall && body?.method !== 'tools/call') return undefined;
      throw new Refusal(this.is.refusal ?? 401, undefined, 'no token', { scope: read });
    }
    const [scheme, token] = given.split(' ');
    const caller = await this.verify(token);
    if (caller.jkt) {
      await this.prove(request, path, scheme, token, caller.jkt);
    } else if (this.is.dpop || scheme.toLowerCase() !== 'bearer') {
      throw new Refusal(401, 'invalid_token', 'the token is not bound to a key');
    }
    if (!caller.scopes.includes(read)) throw new Refusal(403, 'insufficient_scope', `${read} is needed`, { scope: read });
    if (this.is.writeScope && body?.method === 'tools/call' && body.params?.name === 'write' && !caller.scopes.includes(write)) {
      throw new Refusal(403, 'insufficient_scope', `${write} is needed`, { scope: write });
    }
    return { ...caller, scheme, fingerprint: fingerprint(token) };
  }

  async verify(token) {
    const bad = (why) => new Refusal(401, 'invalid_token', why);
    const { provider, publicKey, url } = this.issuer;
    if (!token) throw bad('the header holds no token');
    if (this.world.issued.get(fingerprint(token))?.alive === false) throw bad('the token is expired or revoked');
    if (token.split('.').length === 3) {
      try {
        const { payload } = await this.jose.jwtVerify(token, publicKey, { issuer: url, audience: this.resource, typ: 'at+jwt' });
        return { sub: payload.sub, client_id: payload.client_id, aud: payload.aud, scopes: payload.scope?.split(' ') ?? [], jkt: payload.cnf?.jkt };
      } catch (error) {
        throw bad(`the token is not for here: ${error.code}`);
      }
    }
    const kept = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
    if (!kept || kept.isExpired) throw bad('the token is unknown or expired');
    if (kept.aud !== this.resource) throw bad('the token is for another resource');
    return { sub: kept.accountId, client_id: kept.clientId, aud: kept.aud, scopes: kept.scope?.split(' ') ?? [], jkt: kept.jkt };
  }

  // RFC 9449, section 4.3.
  async prove(request, path, scheme, token, jkt) {
    const bad = (why) => new Refusal(401, 'invalid_dpop_proof', why);
    const { EmbeddedJWK, calculateJwkThumbprint, jwtVerify } = this.jose;
    if (scheme.toLowerCase() !== 'dpop') throw new Refusal(401, 'invalid_token', 'a bound token came as a bearer token');
    const proof = request.headers.dpop;
    if (!proof || proof.includes(',')) throw bad('there is not exactly one proof');
    let verified;
    try {
      verified = await jwtVerify(proof, EmbeddedJWK, { typ: 'dpop+jwt', algorithms: ['ES256'] });
    } catch (error) {
      throw bad(`the proof does not verify: ${error.code}`);
    }
    const { payload, protectedHeader } = verified;
    if (protectedHeader.jwk.d) throw bad('the proof shows the private key');
    if (payload.htm !== request.method) throw bad(`htm is ${payload.htm}`);
    if (payload.htu !== this.origin + path) throw bad(`htu is ${payload.htu}`);
    if (!(Math.abs(Date.now() / 1000 - payload.iat) < 60)) throw bad('iat is not now');
    if (payload.ath !== createHash('sha256').update(token).digest('base64url')) throw bad('ath is of another token');
    if ((await calculateJwkThumbprint(protectedHeader.jwk)) !== jkt) throw bad('the key is another one');
    if (typeof payload.jti !== 'string' || this.proofs.has(payload.jti)) throw bad('the proof was used before');
    this.proofs.add(payload.jti);
    if (this.is.nonce && payload.nonce !== this.nonce) throw new Refusal(401, 'use_dpop_nonce', 'a nonce is needed');
  }

  call({ name, arguments: given = {} }, caller) {
    if (name === 'echo') return text(given.text);
    if (name === 'write') return text(`wrote ${given.text}`);
    if (name === 'whoami') return text(JSON.stringify(caller ?? {}));
    throw new Error(`no tool ${name}`);
  }

  modernHandler() {
    const { Server, createMcpHandler } = this.require('@modelcontextprotocol/server');
    return createMcpHandler(({ authInfo }) => {
      const server = new Server({ name: this.name, version: '1.0.0' }, { capabilities: { tools: {} } });
      server.setRequestHandler('tools/list', () => ({ tools }));
      server.setRequestHandler('tools/call', ({ params }) => this.call(params, authInfo?.extra));
      return server;
    });
  }

  async serveBoth(request, response, body, authInfo) {
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const headers = new Headers();
    for (const [key, value] of Object.entries(request.headers)) if (typeof value === 'string') headers.set(key, value);
    const asked = new Request(this.origin + request.url, {
      method: request.method, headers, signal: gone.signal, ...(request.method === 'POST' ? { body: JSON.stringify(body ?? null) } : {}),
    });
    const answer = await this.handler.fetch(asked, { authInfo, parsedBody: body });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    try {
      for await (const part of answer.body ?? []) response.write(part);
    } catch {
      // The other side has left.
    }
    response.end();
  }

  // With sessions and a listening stream, as servers of the legacy era have them.
  async serveLegacy(request, response, body, auth) {
    const { Server } = this.require('@modelcontextprotocol/sdk/server/index.js');
    const { StreamableHTTPServerTransport } = this.require('@modelcontextprotocol/sdk/server/streamableHttp.js');
    const { CallToolRequestSchema, ListToolsRequestSchema } = this.require('@modelcontextprotocol/sdk/types.js');
    let transport = this.sessions.get(request.headers['mcp-session-id']);
    if (!transport) {
      if (request.headers['mcp-session-id']) return response.writeHead(404).end();
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => this.sessions.set(id, transport),
        onsessionclosed: (id) => this.sessions.delete(id),
      });
      const server = new Server({ name: this.name, version: '1.0.0' }, { capabilities: { tools: {} } });
      server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
      server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => this.call(params, extra.authInfo?.extra));
      await server.connect(transport);
    }
    request.auth = auth;
    await transport.handleRequest(request, response, body);
  }
}
