// A world to sign in to: one authorization server, many protected MCP servers, and a control interface
// through which a test sees what happened and makes things go wrong. All on free ports of 127.0.0.1.
//
//   node auth_world.mjs [--servers N] [--without registration,revocation,cimd,dpop] [--seconds N]
//
// The packages are looked up in $PATCHBAY_NPM_DIR. Prints one line of JSON when all of it is up:
// issuer, control, user, password, client_document and servers ({name, url, resource, kind, era,
// tokens}). Ends when stdin is closed. README.md says what the control interface understands.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { faults, Issuer } from './auth_issuer.mjs';
import { kinds, ProtectedServer } from './auth_servers.mjs';

// stdout is for the one line; the provider has notices of its own.
console.log = console.info = console.error;

const { values: options } = parseArgs({
  options: {
    servers: { type: 'string', default: '2' },
    without: { type: 'string', default: '' },
    seconds: { type: 'string', default: '3600' },
  },
});
const require = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'));

// Counts by name, and what happened in its order.
class Tally {
  constructor() {
    this.clear();
  }
  clear() {
    this.counts = {};
    this.events = [];
  }
  count(name) {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
  most(name, value) {
    this.counts[name] = Math.max(this.counts[name] ?? 0, value);
  }
  event(what, details) {
    if (this.events.length < 10_000) this.events.push({ at: Date.now(), what, ...details });
  }
}

const documentUrl = 'https://client.patchbay.test/client.json';
const world = {
  settings: { access_token_seconds: Number(options.seconds), refresh_token_seconds: 86400, rotate: true, token_delay_ms: 0 },
  tally: new Tally(),
  person: { user: 'ada', password: 'correct horse battery' },
  without: new Set(options.without.split(',').filter(Boolean)),
  resources: new Map(),
  issued: new Map(),
  documents: new Map([[documentUrl, {
    client_id: documentUrl,
    client_name: 'Patchbay by its document',
    application_type: 'native',
    redirect_uris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }]]),
  fault: undefined,
  // For the search after the suites (tests/leaks/leaks.py): nobody may find these in what is written.
  plant: (secret) => {
    if (process.env.PATCHBAY_TEST_PLANTED && secret) appendFileSync(process.env.PATCHBAY_TEST_PLANTED, `${secret}\n`);
  },
};
world.plant(world.person.password);

const issuer = new Issuer(world, require);
await issuer.start();
const plain = Array.from({ length: Number(options.servers) }, (_, index) => ({
  name: `plain${index}`, kind: 'plain', era: index % 2 ? 'legacy' : 'both', format: index % 2 ? 'opaque' : 'jwt',
}));
const special = Object.keys(kinds).filter((kind) => kind !== 'plain' && !(kind.startsWith('dpop') && world.without.has('dpop')))
  .map((kind, index) => ({ name: kind, kind, era: index % 2 ? 'legacy' : 'both', format: 'jwt' }));
const servers = [...plain, ...special].map((one) => new ProtectedServer(world, issuer, require, one));
await Promise.all(servers.map((server) => server.start()));
const described = servers.flatMap((server) => server.described());

class BadRequest extends Error {}

// The resource of a server by one of its names; without a name: all of them.
function resourceOf(name) {
  if (name === undefined) return undefined;
  const found = described.find((one) => one.name === name);
  if (!found) throw new BadRequest(`no server ${name}`);
  return found.resource;
}

const kill = (resource) => {
  let killed = 0;
  for (const token of world.issued.values()) {
    if (token.alive && (!resource || token.resource === resource)) {
      token.alive = false;
      ++killed;
    }
  }
  return { killed };
};

const commands = {
  state: () => ({ counts: world.tally.counts, settings: world.settings, fault: world.fault ?? null }),
  events: ({ what }) => ({ events: world.tally.events.filter((event) => !what || event.what === what) }),
  clear: () => {
    world.tally.clear();
    issuer.windows.clear();
    return {};
  },
  // Access tokens are worth nothing from now on, whatever expires_in said; refresh tokens are.
  expire: ({ server }) => kill(resourceOf(server)),
  // Nor are the refresh tokens.
  revoke: ({ server }) => {
    const resource = resourceOf(server);
    issuer.store.revoke(resource);
    return kill(resource);
  },
  fault: ({ kind, times = 1, grant = 'refresh_token' }) => {
    if (kind !== undefined && !(kind in faults)) throw new BadRequest(`no fault ${kind}; there are ${Object.keys(faults).join(', ')}`);
    world.fault = kind === undefined ? undefined : { kind, times: Number(times), grant };
    return {};
  },
  settings: (given) => {
    for (const [key, value] of Object.entries(given)) {
      if (!(key in world.settings)) throw new BadRequest(`no setting ${key}`);
      world.settings[key] = JSON.parse(value);
    }
    return world.settings;
  },
  stop: async () => {
    await issuer.stop();
    return {};
  },
  start: async () => {
    if (!issuer.server) await issuer.start();
    return {};
  },
  // forget: nothing, clients (registrations are lost, grants are not) or everything; keys: kept or new
  restart: async ({ forget = 'nothing', keys = 'kept' }) => {
    await issuer.stop();
    if (forget === 'clients') issuer.store.forget('Client');
    else if (forget === 'everything') issuer.store.forget();
    else if (forget !== 'nothing') throw new BadRequest(`cannot forget ${forget}`);
    if (keys === 'new') await issuer.newKey();
    await issuer.start();
    return {};
  },
  // The protected server's nonce changes; the one it gave out before is refused.
  nonce: ({ server = 'dpopnonce' }) => {
    const found = servers.find((one) => one.name === server);
    if (!found) throw new BadRequest(`no server ${server}`);
    found.nonce = crypto.randomUUID();
    return {};
  },
  // A client that is there without registering; what is given is its metadata (RFC 7591).
  client: (metadata) => {
    if (!metadata.client_id) throw new BadRequest('no client_id');
    issuer.store.of('Client').set(metadata.client_id, metadata);
    return {};
  },
  document: (document) => {
    if (!document.client_id) throw new BadRequest('no client_id');
    world.documents.set(document.client_id, document);
    return {};
  },
};

// POST /COMMAND with parameters in the query, in a JSON body, or both.
const control = createServer(async (request, response) => {
  const reply = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  try {
    const url = new URL(request.url, 'http://control');
    const command = commands[url.pathname.slice(1)];
    if (!command) return reply(404, { error: `no command ${url.pathname}` });
    let written = '';
    for await (const part of request) written += part;
    reply(200, await command({ ...Object.fromEntries(url.searchParams), ...(written ? JSON.parse(written) : {}) }));
  } catch (error) {
    if (!(error instanceof BadRequest)) console.error(error.stack);
    reply(error instanceof BadRequest ? 400 : 500, { error: error.message });
  }
});
await new Promise((done) => control.listen(0, '127.0.0.1', done));

process.stdout.write(`${JSON.stringify({
  issuer: issuer.url,
  control: `http://127.0.0.1:${control.address().port}`,
  ...world.person,
  client_document: documentUrl,
  servers: described,
})}\n`);
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
process.stdin.on('error', () => process.exit(0));
