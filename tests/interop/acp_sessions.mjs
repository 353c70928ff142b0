// An editor, made with the official library of the Agent Client Protocol, that asks one thing in each of several
// sessions of one `patchbay acp`, one after the other, and prints the answers.
//
//   node acp_sessions.mjs PROJECT COUNT PROGRAM [ARGUMENT...]
//
// The library is looked up in $PATCHBAY_NPM_DIR.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';

const [project, count, command, ...args] = process.argv.slice(2);
const acp = await import(
  pathToFileURL(join(process.env.PATCHBAY_NPM_DIR, 'node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js')));
const { agent, client } = acp.methods;

const child = spawn(command, args, { cwd: '/', stdio: ['pipe', 'pipe', 'inherit'] });
const ended = once(child, 'exit');
const editor = acp.client({ name: 'editor' }).onNotification(client.session.update, ({ params: { update } }) => {
  if (update.sessionUpdate === 'agent_message_chunk') process.stdout.write(update.content.text);
});
await editor.connectWith(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)), async (ctx) => {
  await ctx.request(agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  for (let at = 0; at < Number(count); ++at) {
    const { sessionId } = await ctx.request(agent.session.new, { cwd: project, mcpServers: [] });
    await ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: 'text', text: 'hi' }] });
    console.log();
  }
});
child.stdin.end();
process.exitCode = (await ended)[0];
