// The measuring client on the TypeScript SDKs:
//
//   node client.mjs v1|v2 SERVER MEASURE COUNT [AT-ONCE]
//
// bench/README.md has the measures and the line that is printed. Packages are looked up in
// $BENCH_NPM_DIR, where bench/run installed them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [sdk, server, measure, countText, atOnceText] = process.argv.slice(2);
const count = Number(countText);
const atOnce = Number(atOnceText ?? 1);
const warmUp = Math.floor(count / 5) + 1;
const require = createRequire(join(process.env.BENCH_NPM_DIR, 'package.json'));
const { Client } = require(sdk === 'v1' ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = require(
  sdk === 'v1' ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio',
);
const { StreamableHTTPClientTransport } = require(
  sdk === 'v1' ? '@modelcontextprotocol/sdk/client/streamableHttp.js' : '@modelcontextprotocol/client',
);

function transport() {
  return server.startsWith('http://')
    ? new StreamableHTTPClientTransport(new URL(server))
    : new StdioClientTransport({ command: server, stderr: 'ignore' });
}

async function connected() {
  const client = new Client({ name: 'bench', version: '1' }, { capabilities: {} });
  await client.connect(transport());
  return client;
}

function check(right) {
  if (!right) throw new Error('not the answer that was expected');
}

const calls = {
  sequential: async (client) => {
    const result = await client.callTool({ name: 'echo', arguments: { text: 'hello' } });
    check(result.content[0].text.length === 4);
  },
  large: async (client) => {
    const result = await client.callTool({ name: 'large' });
    check(result.content[0].text.length > 4_000_000);
  },
  many: async (client) => {
    const result = await client.callTool({ name: 'many' });
    check(result.structuredContent.rows.length > 1000);
  },
};
calls.parallel = calls.sequential;

function now() {
  const { user, system } = process.cpuUsage();
  return { wall: performance.now() * 1000, cpu: user + system };
}

function print(began, counted, each = []) {
  const ended = now();
  each.sort((a, b) => a - b);
  const peak = Number(/VmHWM:\s*(\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  console.log(
    JSON.stringify({
      measure,
      count: counted,
      wall_us: (ended.wall - began.wall) / counted,
      cpu_us: (ended.cpu - began.cpu) / counted,
      p50_us: each.length > 0 ? each[each.length >> 1] : 0,
      p99_us: each.length > 0 ? each[Math.min(each.length - 1, Math.floor(0.99 * each.length))] : 0,
      peak_kib: peak,
    }),
  );
}

async function inFlight(client, total) {
  let left = total;
  const work = async () => {
    while (left-- > 0) await calls.parallel(client);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

if (measure === 'connect') {
  let left = count;
  const began = now();
  const work = async () => {
    while (left-- > 0) {
      const client = await connected();
      check((await client.listTools()).tools.length === 3);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  print(began, 1);
} else {
  const client = await connected();
  if (measure === 'stream') {
    // The delay of each event of a stream: the server writes the time into it, by the same clock.
    const each = [];
    const stream = () =>
      client.callTool({ name: 'stream' }, ...(sdk === 'v1' ? [undefined] : []), {
        onprogress: ({ message }) => each.push(Number(process.hrtime.bigint() - BigInt(message)) / 1000),
      });
    await stream();
    each.length = 0;
    const began = now();
    for (let i = 0; i < count; ++i) await stream();
    print(began, count, each);
  } else if (measure === 'parallel') {
    await inFlight(client, warmUp);
    const began = now();
    await inFlight(client, count);
    print(began, count);
  } else {
    for (let i = 0; i < warmUp; ++i) await calls[measure](client);
    const each = [];
    const began = now();
    for (let i = 0; i < count; ++i) {
      const start = performance.now();
      await calls[measure](client);
      each.push((performance.now() - start) * 1000);
    }
    print(began, count, each);
  }
}
process.exit(0);
