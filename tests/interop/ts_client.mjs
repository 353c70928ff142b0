// Drives a server over stdio, or over HTTP, with the official TypeScript clients: the v2 SDK in
// legacy mode, pinned to the modern revision and choosing by itself, and the v1 SDK.
//
//   node ts_client.mjs [--http] PROGRAM [ARGUMENT...]     e.g. build/release/bin/patchbay serve --allow-run
//
// The server is the built-in one; it is started in a fresh directory, which is its root, with
// --http for the second. The
// packages are looked up in $PATCHBAY_NPM_DIR. Prints one line per check in the form of
// GoogleTest, so that ./test counts them, and exits 1 when any failed.
//
// $PATCHBAY_TASK_SERVER names a second server, the one of the scenarios, which has tools that run as
// tasks; without it those checks are left out.
//
// N1: both eras as a server over stdio and HTTP, judged by a client that is not ours.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const words = process.argv.slice(2);
const overHttp = words[0] === '--http';
const [command, ...args] = overHttp ? words.slice(1) : words;
const npmDir = process.env.PATCHBAY_NPM_DIR;
if (!command || !npmDir) {
  console.error('usage: PATCHBAY_NPM_DIR=DIR node ts_client.mjs [--http] PROGRAM [ARGUMENT...]');
  process.exit(2);
}
const require = createRequire(join(npmDir, 'package.json'));
const v2 = require('@modelcontextprotocol/client');
const v2stdio = require('@modelcontextprotocol/client/stdio');
const v1 = require('@modelcontextprotocol/sdk/client/index.js');
const v1stdio = require('@modelcontextprotocol/sdk/client/stdio.js');
const v1http = require('@modelcontextprotocol/sdk/client/streamableHttp.js');

const modern = '2026-07-28';
const legacy = '2025-11-25';
const identity = { name: 'patchbay-interop', version: '1.0.0' };

const v2Client = (mode) => () => new v2.Client(identity, { versionNegotiation: { mode } });
const clients = [
  { name: 'V2Legacy', era: 'legacy', client: v2Client('legacy'), stdio: v2stdio, http: v2 },
  { name: 'V2Modern', era: 'modern', client: v2Client({ pin: modern }), stdio: v2stdio, http: v2 },
  { name: 'V2Auto', era: 'modern', client: v2Client('auto'), stdio: v2stdio, http: v2 },
  { name: 'V1', era: 'legacy', client: () => new v1.Client(identity, { capabilities: {} }), stdio: v1stdio, http: v1http },
];

// The server as a process of its own, behind the URL it prints.
async function startHttpServer(root) {
  const server = spawn(command, [...args, '--http', '127.0.0.1:0', '--json'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(server, 'exit');
  const [line] = await Promise.race([
    once(createInterface({ input: server.stdout }), 'line'),
    ended.then(([code]) => Promise.reject(new Error(`the server ended with ${code}`))),
  ]);
  const { url, token } = JSON.parse(line);
  return {
    url: new URL(url),
    // With --allow-run there is always a token.
    options: token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {},
    async stop() {
      server.kill('SIGTERM');
      const [code, signal] = await ended;
      return code ?? signal;
    },
  };
}

const expectedTools = ['edit_file', 'glob', 'grep', 'list_dir', 'read_file', 'run_command', 'write_file'];

const textOf = (result) =>
  result.content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n');

async function call(client, name, parameters) {
  const result = await client.callTool({ name, arguments: parameters });
  assert.ok(Array.isArray(result.content), `${name} answered without content`);
  return result;
}

async function callText(client, name, parameters) {
  const result = await call(client, name, parameters);
  assert.ok(!result.isError, `${name} failed: ${textOf(result)}`);
  return textOf(result);
}

// A tool may refuse bad arguments as a result or as a protocol error; both reach the caller.
async function refused(client, name, parameters) {
  try {
    const result = await call(client, name, parameters);
    return result.isError === true;
  } catch (error) {
    return typeof error.code === 'number' && error.code < 0;
  }
}

const checks = {
  async NegotiatesItsEra({ client, era }) {
    const info = client.getServerVersion();
    assert.equal(typeof info?.name, 'string');
    assert.notEqual(info.name, '');
    assert.equal(typeof info.version, 'string');
    assert.ok(client.getServerCapabilities()?.tools, 'the tools capability is not declared');
    if (client.getProtocolEra) assert.equal(client.getProtocolEra(), era);
    if (client.getNegotiatedProtocolVersion) {
      assert.equal(client.getNegotiatedProtocolVersion(), era === 'modern' ? modern : legacy);
    }
  },

  async ListsTheBuiltInTools({ client }) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name).sort(), expectedTools);
    for (const tool of tools) {
      assert.equal(tool.inputSchema.type, 'object', `${tool.name} has no object schema`);
      assert.ok(tool.description?.length > 10, `${tool.name} has no description`);
      assert.equal(typeof tool.annotations?.readOnlyHint, 'boolean', `${tool.name} says nothing of read-only`);
    }
    const readOnly = tools.filter((tool) => tool.annotations.readOnlyHint).map((tool) => tool.name);
    assert.deepEqual(readOnly.sort(), ['glob', 'grep', 'list_dir', 'read_file']);
  },

  async ListsResourcesAndPrompts({ client }) {
    const capabilities = client.getServerCapabilities();
    if (capabilities.resources) {
      const { resources } = await client.listResources();
      assert.ok(Array.isArray(resources));
      for (const resource of resources.slice(0, 5)) {
        const { contents } = await client.readResource({ uri: resource.uri });
        assert.ok(contents.length > 0, `${resource.uri} is empty`);
        assert.equal(contents[0].uri, resource.uri);
      }
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.ok(Array.isArray(resourceTemplates));
    }
    if (capabilities.prompts) {
      const { prompts } = await client.listPrompts();
      assert.ok(Array.isArray(prompts));
    }
  },

  async ReadsAFile({ client }) {
    assert.match(await callText(client, 'read_file', { path: 'greeting.txt' }), /hello, wörld ☕/);
  },

  async WritesAndEditsAFile({ client, root, edit }) {
    const tricky = 'first "quoted" line\nsecond \\ line\ttab\nlast é 你好\n';
    await callText(client, 'write_file', { path: 'written.txt', content: tricky });
    assert.equal(await readFile(join(root, 'written.txt'), 'utf8'), tricky);
    await callText(client, 'edit_file', { path: 'written.txt', ...edit('second \\ line', 'changed line') });
    assert.equal(await readFile(join(root, 'written.txt'), 'utf8'), tricky.replace('second \\ line', 'changed line'));
  },

  async FindsFiles({ client }) {
    const listing = await callText(client, 'list_dir', { path: '.' });
    for (const name of ['greeting.txt', 'deep']) assert.ok(listing.includes(name), `${name} is not in ${listing}`);
    const globbed = await callText(client, 'glob', { pattern: '**/*.md' });
    assert.match(globbed, /deep\/er\/notes\.md/);
    assert.doesNotMatch(globbed, /greeting\.txt/);
    const grepped = await callText(client, 'grep', { pattern: 'needle [0-9]+' });
    assert.match(grepped, /notes\.md/);
    assert.match(grepped, /needle 42/);
    assert.doesNotMatch(grepped, /greeting/);
  },

  async RunsACommand({ client, run }) {
    assert.match(await callText(client, 'run_command', run('printf', 'one two')), /one two/);
  },

  async RefusesWhatLiesOutsideItsRoot({ client }) {
    for (const path of ['../outside.txt', '/etc/hostname', 'escape/hostname']) {
      assert.ok(await refused(client, 'read_file', { path }), `${path} was read`);
    }
  },

  async ReportsFailuresAsResults({ client }) {
    const missing = await call(client, 'read_file', { path: 'no-such-file.txt' });
    assert.equal(missing.isError, true);
    assert.match(textOf(missing), /no-such-file\.txt/);
  },

  async RefusesWrongArgumentsAndUnknownTools({ client }) {
    assert.ok(await refused(client, 'read_file', {}), 'a call without its argument passed');
    assert.ok(await refused(client, 'read_file', { path: 17 }), 'a number passed as a path');
    assert.ok(await refused(client, 'no_such_tool', {}), 'an unknown tool was called');
  },

  async AnswersManyCallsAtOnce({ client }) {
    const texts = await Promise.all(
      Array.from({ length: 40 }, (_, i) => callText(client, 'read_file', { path: `many/${i}.txt` }).then((text) => [i, text])),
    );
    for (const [i, text] of texts) assert.match(text, new RegExp(`content of ${i}\\.`));
  },

  async GoesOnAfterACancelledCall({ client, run }) {
    const abort = new AbortController();
    const pending = client.callTool({ name: 'run_command', arguments: run('sleep', '30') }, ...cancelOptions(client, abort.signal));
    const ended = assert.rejects(pending);
    // The server has the request once it answers the next one.
    await client.listTools();
    abort.abort();
    await ended;
    assert.match(await callText(client, 'read_file', { path: 'greeting.txt' }), /hello/);
  },
};

// The v1 client takes a result schema between the request and its options.
function cancelOptions(client, signal) {
  return client instanceof v1.Client ? [undefined, { signal }] : [{ signal }];
}

// Two argument names are the server's choice; they are taken from the schemas it lists.
async function spellings(client) {
  const { tools } = await client.listTools();
  const properties = (name) => tools.find((tool) => tool.name === name)?.inputSchema.properties ?? {};
  const pick = (tool, ...names) => {
    const found = names.find((name) => name in properties(tool));
    assert.ok(found, `${tool} takes none of ${names.join(', ')}, only ${Object.keys(properties(tool)).join(', ')}`);
    return found;
  };
  const oldName = pick('edit_file', 'old_text', 'old_string', 'old');
  const newName = pick('edit_file', 'new_text', 'new_string', 'new');
  const commandType = properties('run_command').command?.type;
  return {
    edit: (before, after) => ({ [oldName]: before, [newName]: after }),
    run: (program, argument) => {
      if (commandType === 'array') return { command: [program, argument] };
      if ('args' in properties('run_command')) return { command: program, args: [argument] };
      return { command: `${program} '${argument}'` };
    },
  };
}

async function makeRoot() {
  const top = await mkdtemp(join(tmpdir(), 'ts-client-'));
  const root = join(top, 'root');
  await mkdir(join(root, 'deep', 'er'), { recursive: true });
  await mkdir(join(root, 'many'));
  await writeFile(join(top, 'outside.txt'), 'not for the server\n');
  await writeFile(join(root, 'greeting.txt'), 'hello, wörld ☕\n');
  await writeFile(join(root, 'deep', 'er', 'notes.md'), '# Notes\na needle 42 in the hay\n');
  for (let i = 0; i < 40; ++i) await writeFile(join(root, 'many', `${i}.txt`), `content of ${i}.\n`);
  await symlink('/etc', join(root, 'escape'));
  return { top, root };
}

let failed = 0;
async function check(name, body) {
  const began = performance.now();
  const took = () => `(${Math.round(performance.now() - began)} ms)`;
  try {
    await body();
    console.log(`[       OK ] ${name} ${took()}`);
    return true;
  } catch (error) {
    failed += 1;
    console.log(`${error.stack}\n[  FAILED  ] ${name} ${took()}`);
    return false;
  }
}

for (const { name: plainName, era, client: makeClient, stdio, http } of clients) {
  const name = overHttp ? `Http${plainName}` : plainName;
  const { top, root } = await makeRoot();
  const client = makeClient();
  let server;
  try {
    let transport;
    const context = { client, era, root };
    const connected = await check(`${name}.Connects`, async () => {
      if (overHttp) server = await startHttpServer(root);
      transport = overHttp
        ? new http.StreamableHTTPClientTransport(server.url, server.options)
        : new stdio.StdioClientTransport({ command, args, cwd: root, env: { ...process.env }, stderr: 'inherit' });
      await client.connect(transport);
      Object.assign(context, await spellings(client));
    });
    if (!connected) continue;
    for (const [title, body] of Object.entries(checks)) await check(`${name}.${title}`, () => body(context));
    if (overHttp) {
      await check(`${name}.EndsItsSession`, async () => {
        assert.equal(Boolean(transport.sessionId), era === 'legacy', 'only older clients have a session');
        if (transport.sessionId) await transport.terminateSession();
        await client.close();
      });
      await check(`${name}.TheServerEndsWhenItIsTold`, async () => assert.equal(await server.stop(), 0));
      continue;
    }
    await check(`${name}.EndsWhenItsInputEnds`, async () => {
      const pid = transport.pid;
      assert.ok(pid > 0);
      await client.close();
      assert.throws(() => process.kill(pid, 0), 'the server is still running');
    });
  } finally {
    await client.close().catch(() => {});
    await server?.stop();
    await rm(top, { recursive: true, force: true });
  }
}
// Tasks, against a server that has tools for them: the v1 client follows one to its result,
// answers what it asks on the way, and cancels one.
const taskServer = overHttp ? undefined : process.env.PATCHBAY_TASK_SERVER;
if (taskServer) {
  const types = require('@modelcontextprotocol/sdk/types.js');
  const client = new v1.Client(identity, { capabilities: { elicitation: {} } });
  client.setRequestHandler(types.ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'Ann' } }));
  const transport = new v1stdio.StdioClientTransport({ command: taskServer, args: [], stderr: 'inherit' });
  const follow = async (name, onStatus) => {
    const seen = [];
    // Said here, because the client remembers which tools need it for the last page of a list only.
    const options = { task: { ttl: 60000 } };
    const stream = client.experimental.tasks.callToolStream({ name, arguments: {} }, undefined, options);
    for await (const message of stream) {
      seen.push(message.type);
      if (message.type === 'taskCreated' || message.type === 'taskStatus') await onStatus?.(message.task);
      if (message.type === 'result') return { seen, result: message.result };
      if (message.type === 'error') return { seen, error: message.error };
    }
    throw new Error(`${name} ended without a result`);
  };
  await check('V1Tasks.Connects', async () => {
    await client.connect(transport);
    assert.ok(client.getServerCapabilities().tasks?.requests?.tools?.call, 'tasks are not declared');
  });
  await check('V1Tasks.FollowsATaskToItsResult', async () => {
    let released = false;
    const { seen, result } = await follow('task_held', async (task) => {
      if (released || task.statusMessage !== 'waiting to be released') return;
      released = true;
      await client.callTool({ name: 'task_release', arguments: {} });
    });
    assert.equal(seen[0], 'taskCreated');
    assert.equal(textOf(result), 'released');
  });
  await check('V1Tasks.AnswersWhatATaskAsks', async () => {
    const { result } = await follow('task_asks');
    assert.match(textOf(result), /^accept .*Ann.* then accept .*Ann/);
  });
  await check('V1Tasks.ReportsAFailedTask', async () => {
    const { error, result } = await follow('task_fails');
    assert.ok(error || result?.isError, 'a failed task gave a result');
  });
  await check('V1Tasks.CancelsATask', async () => {
    const created = await client.request(
      { method: 'tools/call', params: { name: 'task_held', arguments: {}, task: { ttl: 60000 } } },
      types.CreateTaskResultSchema,
    );
    const id = created.task.taskId;
    const { tasks } = await client.experimental.tasks.listTasks();
    assert.ok(tasks.length > 0);
    assert.equal((await client.experimental.tasks.cancelTask(id)).status, 'cancelled');
    assert.equal((await client.experimental.tasks.getTask(id)).status, 'cancelled');
    await assert.rejects(client.experimental.tasks.cancelTask(id));
  });
  await client.close().catch(() => {});
}
console.log(failed ? `${failed} checks failed` : 'all checks passed');
process.exit(failed ? 1 : 0);
