// An MCP server behind a WebSocket, on the `ws` package and the official TypeScript SDKs, for our
// client to talk to.
//
//   node ws_server.mjs v1|v2 [CERTIFICATE KEY]      v1: the legacy era; v2: both
//
// The packages are looked up in $PATCHBAY_NPM_DIR. $WS_TOKEN, if set, is the bearer token the
// handshake has to carry. Prints its URL, and what becomes of connections. Each is pinged five times.
//
// T4: the framing, the handshake and the pings of somebody else.
import { readFileSync } from 'node:fs';
import { createServer as createPlain } from 'node:http';
import { createServer as createSecure } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [sdk, certificate, key] = process.argv.slice(2);
const require = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'));
const { WebSocketServer } = require('ws');
const v1 = require('@modelcontextprotocol/sdk/server/index.js');
const v1types = require('@modelcontextprotocol/sdk/types.js');
const v2 = require('@modelcontextprotocol/server');
const v2stdio = require('@modelcontextprotocol/server/stdio');

const identity = { name: `ws-${sdk}`, version: '1.0.0' };
const tool = (name, properties) => ({
  name,
  description: name,
  inputSchema: { type: 'object', properties, required: Object.keys(properties) },
});
const tools = [
  tool('echo', { text: { type: 'string' } }),
  tool('size', { bytes: { type: 'integer' } }),
  tool('handshake', {}),
  tool('steps', { count: { type: 'integer' } }),
  tool('leave', {}),
];
const text = (value) => ({ content: [{ type: 'text', text: value }] });

// What a tool does, whichever SDK calls it.
async function call({ name, arguments: given = {}, _meta }, socket, request, notify) {
  switch (name) {
    case 'echo':
      return text(given.text);
    case 'size':
      return text('x'.repeat(given.bytes));
    case 'handshake':
      return text(JSON.stringify({ protocol: socket.protocol, extensions: socket.extensions, headers: request.headers }));
    case 'steps':
      for (let progress = 1; progress <= given.count; ++progress) {
        await notify({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress } });
      }
      return text('done');
    case 'leave':
      socket.close(4000, 'told to leave');
      return text('');
    default:
      throw new Error(`no tool ${name}`);
  }
}

// The SDK's idea of a transport, on one connection.
class SocketTransport {
  constructor(socket) {
    this.socket = socket;
  }
  async start() {
    this.socket.on('message', (data, binary) => {
      if (binary) return this.onerror?.(new Error('a binary message'));
      this.onmessage?.(JSON.parse(data.toString()));
    });
    this.socket.on('close', (code) => {
      console.log(`closed with ${code}`);
      this.onclose?.();
    });
    this.socket.on('error', (error) => console.log(`error ${error.message}`));
  }
  async send(message) {
    // In fragments, so that the other side has something to put together.
    const written = JSON.stringify(message);
    this.socket.send(written.slice(0, 7), { fin: false });
    this.socket.send(written.slice(7), { fin: true });
  }
  async close() {
    this.socket.close(1000);
  }
}

async function serveV1(socket, request) {
  const server = new v1.Server(identity, { capabilities: { tools: {} } });
  server.setRequestHandler(v1types.ListToolsRequestSchema, () => ({ tools }));
  server.setRequestHandler(v1types.CallToolRequestSchema, ({ params }, extra) =>
    call(params, socket, request, extra.sendNotification));
  await server.connect(new SocketTransport(socket));
}

function serveV2(socket, request) {
  const factory = () => {
    const server = new v2.Server(identity, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }, context) =>
      call(params, socket, request, (notification) => context.mcpReq.notify(notification)));
    return server;
  };
  v2stdio.serveStdio(factory, { transport: new SocketTransport(socket), onerror: (error) => console.log(`error ${error.message}`) });
}

const http = certificate
  ? createSecure({ cert: readFileSync(certificate), key: readFileSync(key) })
  : createPlain();
const sockets = new WebSocketServer({
  noServer: true,
  perMessageDeflate: true,
  handleProtocols: (offered) => (offered.has('mcp') ? 'mcp' : false),
});
http.on('upgrade', (request, connection, head) => {
  const token = process.env.WS_TOKEN;
  if (token && request.headers.authorization !== `Bearer ${token}`) {
    connection.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 8\r\nConnection: close\r\n\r\nno token');
    return;
  }
  sockets.handleUpgrade(request, connection, head, (socket) => {
    let answered = 0;
    socket.on('pong', (payload) => {
      if (payload.toString() !== `ping ${answered}`) return socket.terminate();
      if (++answered < 5) return socket.ping(`ping ${answered}`);
      console.log('five pings were answered');
    });
    socket.ping('ping 0');
    (sdk === 'v1' ? serveV1 : serveV2)(socket, request);
  });
});
http.listen(0, '127.0.0.1', () => {
  console.log(`listening at ${certificate ? 'wss' : 'ws'}://127.0.0.1:${http.address().port}/mcp`);
});
