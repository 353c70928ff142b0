// An editor, made with the official library of the Agent Client Protocol, that works with `patchbay acp`.
//
//   node acp_client.mjs PROJECT SERVER PROGRAM [ARGUMENT...]     e.g. … build/release/bin/patchbay acp --model script:s.json
//
// PROJECT is the directory that the editor has open, with the files that acp_interop_test.cpp puts there; SERVER is a
// program that speaks MCP on stdin and stdout. The library is looked up in $PATCHBAY_NPM_DIR. Prints the name of each
// check that has passed, and ends with 1 at the first that has not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [project, server, command, ...args] = process.argv.slice(2);
const npmDir = process.env.PATCHBAY_NPM_DIR;
if (!command || !npmDir) {
  console.error('usage: PATCHBAY_NPM_DIR=DIR node acp_client.mjs PROJECT SERVER PROGRAM [ARGUMENT...]');
  process.exit(2);
}
const acp = await import(pathToFileURL(join(npmDir, 'node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js')));
const { agent, client } = acp.methods;

const mcpServers = [{ name: 'fake', command: server, args: ['good'], env: [] }];

// Runs the agent and an editor whose user answers questions with `answer`.
async function edit(answer, work) {
  const child = spawn(command, args, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  const seen = { updates: [], questions: [], forms: [] };
  const editor = acp
    .client({ name: 'editor' })
    .onNotification(client.session.update, ({ params }) => { seen.updates.push(params); })
    .onRequest(client.session.requestPermission, ({ params }) => {
      seen.questions.push(params);
      return answer(params);
    })
    .onRequest(client.elicitation.create, ({ params }) => {
      seen.forms.push(params);
      return { action: 'accept', content: { name: 'Ada' } };
    });
  const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
  await editor.connectWith(stream, async (ctx) => {
    const capabilities = await ctx.request(agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: { elicitation: { form: {} }, session: { notices: {} } },
      clientInfo: { name: 'editor', version: '1' },
    });
    await work(ctx, seen, capabilities);
  });
  child.stdin.end();
  const [code] = await ended;
  assert.equal(code, 0, 'the agent ends when the editor does');
}

const select = (optionId) => ({ outcome: { outcome: 'selected', optionId } });
const say = (text) => [{ type: 'text', text }];
const of = (seen, kind) => seen.updates.map(({ update }) => update).filter((update) => update.sessionUpdate === kind);
const texts = (seen, kind) => of(seen, kind).map((update) => update.content.text).join('');
const failsWith = (code) => (error) => {
  assert.equal(error.code, code, String(error));
  return true;
};
const passed = (name) => console.log(`ok ${name}`);

let first;
await edit(
  ({ toolCall, options }) => {
    const allow = options.find(({ kind }) => kind === 'allow_always');
    if (toolCall.name.startsWith('mcp__fake')) return select(allow.optionId);
    if (toolCall.name === 'edit_file') return select(options.find(({ kind }) => kind === 'allow_once').optionId);
    return select(options.find(({ kind }) => kind === 'reject_once').optionId);
  },
  async (ctx, seen, { protocolVersion, agentCapabilities, authMethods, agentInfo }) => {
    assert.equal(protocolVersion, 1);
    assert.equal(agentInfo.name, 'patchbay');
    assert.equal(agentCapabilities.loadSession, true);
    assert.deepEqual(agentCapabilities.mcpCapabilities, { http: true, sse: true });
    assert.equal(agentCapabilities.promptCapabilities.embeddedContext, true);
    assert.deepEqual(authMethods, []);
    passed('Initialize');

    await assert.rejects(ctx.request(agent.session.new, { cwd: 'here', mcpServers: [] }), failsWith(-32602));
    await assert.rejects(ctx.request(agent.session.prompt, { sessionId: 'nobody', prompt: say('hi') }), failsWith(-32602));
    passed('WrongRequestsAreRefused');

    const { sessionId, modes } = await ctx.request(agent.session.new, { cwd: project, mcpServers });
    assert.equal(modes.currentModeId, 'default');
    first = sessionId;
    const { stopReason } = await ctx.request(agent.session.prompt, {
      sessionId,
      prompt: [
        ...say('please do '),
        { type: 'resource_link', name: 'a.txt', uri: `file://${project}/a.txt` },
        { type: 'resource', resource: { uri: 'file:///notes', text: 'the notes' } },
      ],
    });
    assert.equal(stopReason, 'end_turn');
    assert.ok(seen.updates.every((update) => update.sessionId === sessionId));
    assert.equal(texts(seen, 'agent_thought_chunk'), 'hm');
    assert.ok(texts(seen, 'agent_message_chunk').startsWith('I look.'), texts(seen, 'agent_message_chunk'));
    const calls = of(seen, 'tool_call');
    assert.deepEqual(calls.map(({ name, kind }) => [name, kind]), [
      ['read_file', 'read'], ['mcp__fake__echo', 'other'], ['edit_file', 'edit'], ['run_command', 'execute']]);
    assert.equal(calls[0].title, 'read_file a.txt');
    assert.deepEqual(calls[0].locations, [{ path: join(project, 'a.txt') }]);
    assert.deepEqual(calls[2].content, [
      { type: 'diff', path: join(project, 'a.txt'), oldText: 'plants', newText: 'flowers' }]);
    passed('CallsAreShown');

    const ends = new Map(of(seen, 'tool_call_update').map((update) => [update.toolCallId, update]));
    const end = (at) => ends.get(calls[at].toolCallId);
    assert.deepEqual([0, 1, 2, 3].map((at) => end(at).status), ['completed', 'completed', 'completed', 'failed']);
    assert.equal(end(0).content[0].content.text.includes('water the plants'), true);
    assert.equal(end(1).content[0].content.text, 'hi');
    assert.equal(end(2).content[0].type, 'diff');
    assert.equal(readFileSync(join(project, 'a.txt'), 'utf8'), 'water the flowers');
    assert.equal(existsSync(join(project, 'made')), false);
    passed('OutcomesAreShown');

    assert.deepEqual(seen.questions.map(({ toolCall }) => toolCall.toolCallId), [1, 2, 3].map((at) => calls[at].toolCallId));
    assert.deepEqual(seen.questions[0].toolCall.rawInput, { text: 'hi' });
    passed('TheUserIsAsked');

    seen.questions.length = 0;
    await ctx.request(agent.session.prompt, { sessionId, prompt: say('once more') });
    assert.deepEqual(seen.questions, []);
    passed('WhatIsAllowedForTheSessionIsNotAskedAgain');

    await ctx.request(agent.session.setMode, { sessionId, modeId: 'plan' });
    await ctx.request(agent.session.prompt, { sessionId, prompt: say('change it') });
    assert.deepEqual(seen.questions, []);
    assert.equal(readFileSync(join(project, 'a.txt'), 'utf8'), 'water the flowers');
    await assert.rejects(ctx.request(agent.session.setMode, { sessionId, modeId: 'wild' }), failsWith(-32602));
    passed('ModesAreSet');
  },
);

let asked;
await edit(
  () => new Promise((resolve) => { asked(() => resolve({ outcome: { outcome: 'cancelled' } })); }),
  async (ctx, seen) => {
    const { sessionId } = await ctx.request(agent.session.new, { cwd: project, mcpServers: [] });
    const question = new Promise((resolve) => { asked = resolve; });
    const prompt = ctx.request(agent.session.prompt, { sessionId, prompt: say('run something') });
    const cancelled = await question;
    await ctx.notify(agent.session.cancel, { sessionId });
    cancelled();
    assert.equal((await prompt).stopReason, 'cancelled');
    // It goes on with the next prompt.
    assert.equal((await ctx.request(agent.session.prompt, { sessionId, prompt: say('hello') })).stopReason, 'end_turn');
    passed('APromptIsCancelled');

    await ctx.request(agent.session.close, { sessionId });
    await assert.rejects(ctx.request(agent.session.prompt, { sessionId, prompt: say('hi') }), failsWith(-32602));
    passed('ASessionIsClosed');
    void seen;
  },
);

await edit(
  () => select('no'),
  async (ctx, seen) => {
    const { sessions } = await ctx.request(agent.session.list, { cwd: project });
    const one = sessions.find(({ sessionId }) => sessionId === first);
    assert.ok(one, 'the first session is listed');
    assert.equal(one.cwd, project);
    const loaded = await ctx.request(agent.session.load, { sessionId: first, cwd: project, mcpServers });
    assert.equal(loaded.modes.currentModeId, 'default');
    assert.ok(texts(seen, 'user_message_chunk').startsWith('please do [a.txt]'));
    assert.ok(texts(seen, 'user_message_chunk').includes('the notes'));
    assert.ok(texts(seen, 'agent_message_chunk').includes('I look.'));
    assert.equal(of(seen, 'tool_call')[2].content[0].newText, 'flowers');
    assert.equal(of(seen, 'tool_call_update')[3].status, 'failed');
    assert.equal((await ctx.request(agent.session.prompt, { sessionId: first, prompt: say('hello') })).stopReason, 'end_turn');
    await assert.rejects(
      ctx.request(agent.session.load, { sessionId: 'nobody12', cwd: project, mcpServers: [] }), failsWith(-32602));
    passed('ASessionIsTakenUp');
  },
);

await edit(
  () => select('once'),
  async (ctx, seen) => {
    const asking = [{ name: 'fake', command: server, args: ['asks', 'name'], env: [] }];
    const { sessionId } = await ctx.request(agent.session.new, { cwd: project, mcpServers: asking });
    await ctx.request(agent.session.prompt, { sessionId, prompt: say('who am I') });
    assert.equal(seen.forms.length, 1);
    assert.equal(seen.forms[0].sessionId, sessionId);
    assert.equal(of(seen, 'tool_call_update').at(-1).status, 'completed');
    assert.ok(JSON.stringify(of(seen, 'tool_call_update').at(-1).content).includes('Ada'));
    passed('AFormIsFilledIn');
  },
);

// A server that wants text of the model has it when the user says so, and is told when they do not.
const sampling = process.env.SAMPLING_SERVER;
for (const [answer, expected] of [['once', 'Something.'], ['no', 'rejected']]) {
  await edit(
    ({ toolCall }) => select(toolCall.toolCallId.startsWith('sampling:') ? answer : 'once'),
    async (ctx, seen) => {
      const fix = [{ name: 'fix', command: sampling, args: [], env: [] }];
      const { sessionId } = await ctx.request(agent.session.new, { cwd: project, mcpServers: fix });
      await ctx.request(agent.session.prompt, { sessionId, prompt: say('sample it') });
      const question = seen.questions.find(({ toolCall }) => toolCall.toolCallId.startsWith('sampling:'));
      assert.ok(question, 'the user is asked');
      assert.deepEqual(question.options.map(({ kind }) => kind), ['allow_once', 'reject_once']);
      // As it is, whatever an editor makes of Markdown.
      assert.match(question.toolCall.content[0].content.text, /^```text\n[^]*say something[^]*\n```\n$/);
      const content = JSON.stringify(of(seen, 'tool_call_update').at(-1).content);
      assert.ok(content.includes(expected), content);
    },
  );
}
passed('TextOfTheModelIsForTheUserToGive');
