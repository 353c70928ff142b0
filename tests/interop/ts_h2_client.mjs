// The TypeScript client, v2, over TLS and HTTP/2: reads note.txt from the built-in server behind
// a URL, in each way it can choose the revision. Prints "MODE TEXT" for each.
//
//   node ts_h2_client.mjs URL CA_FILE
//
// The packages are looked up in $PATCHBAY_NPM_DIR. Node's own fetch does not speak HTTP/2, so
// the client is given that of undici.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [url, caFile] = process.argv.slice(2);
const require = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'));
const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
const undici = require('undici');

const dispatcher = new undici.Agent({ allowH2: true, connect: { ca: readFileSync(caFile) } });
const fetch = (resource, init) => undici.fetch(resource, { ...init, dispatcher });

for (const [name, mode] of Object.entries({ legacy: 'legacy', auto: 'auto', modern: { pin: '2026-07-28' } })) {
  const client = new Client({ name: 'patchbay-interop', version: '1.0.0' }, { versionNegotiation: { mode } });
  const transport = new StreamableHTTPClientTransport(new URL(url), { fetch });
  await client.connect(transport);
  const { tools } = await client.listTools();
  if (!tools.some((tool) => tool.name === 'read_file')) throw new Error('read_file is not listed');
  const result = await client.callTool({ name: 'read_file', arguments: { path: 'note.txt' } });
  console.log(`${name} ${result.content[0].text.trim()}`);
  if (transport.sessionId) await transport.terminateSession();
  await client.close();
}
await dispatcher.close();
