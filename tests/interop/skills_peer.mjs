// Skills by the TypeScript SDK of the extension, on either side of a conversation over stdio.
//
//   node skills_peer.mjs serve DIRECTORY legacy|both    offers the skills below DIRECTORY
//   node skills_peer.mjs read legacy|auto PROGRAM       prints as JSON what it can read of the
//                                                       skills that PROGRAM offers
//
// The packages are looked up in $PATCHBAY_NPM_DIR.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const npmDir = process.env.PATCHBAY_NPM_DIR;
const require = createRequire(join(npmDir, 'package.json'));
// This package can only be imported, and not from where this file lies.
const extension = join(npmDir, 'node_modules/@olaservo/ext-skills');
const { exports } = JSON.parse(await readFile(join(extension, 'package.json'), 'utf8'));
const imported = (part) => import(pathToFileURL(join(extension, exports[part].import)));

const [role, ...words] = process.argv.slice(2);
if (role === 'serve') {
  const [directory, era] = words;
  const { McpServer } = require('@modelcontextprotocol/server');
  const { StdioServerTransport, serveStdio } = require('@modelcontextprotocol/server/stdio');
  const { discoverSkills, registerSkillResources } = await imported('./server');
  const skills = discoverSkills(directory);
  const make = () => {
    const server = new McpServer({ name: 'skills-peer', version: '1' }, { capabilities: { resources: {} } });
    registerSkillResources(server, skills, directory, { template: true, directoryRead: true, ttlMs: 60_000 });
    return server;
  };
  if (era === 'legacy') {
    await make().connect(new StdioServerTransport());
  } else {
    serveStdio(make);
  }
} else {
  const [mode, command, ...args] = words;
  const { Client } = require('@modelcontextprotocol/client');
  const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
  const peer = await imported('./client');
  const client = new Client({ name: 'skills-peer', version: '1' }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ command, args }));
  const found = { directories: peer.serverSupportsDirectoryRead(client), skills: {} };
  for (const listed of await peer.listSkills(client)) {
    const entry = await peer.getSkill(client, listed.uri);
    const skill = { files: [], children: [] };
    try {
      skill.text = await peer.readSkill(client, entry);
      for (const file of entry.resources) {
        await peer.readSkillResource(client, entry, file.uri);
        skill.files.push(file.uri);
      }
      const { resources } = await peer.readDirectory(client, entry.uri.slice(0, -'/SKILL.md'.length));
      skill.children = resources.map((child) => child.uri);
    } catch (error) {
      skill.refused = error.message;
    }
    found.skills[entry.frontmatter.name] = skill;
  }
  await client.close();
  console.log(JSON.stringify(found));
}
