// What a person does when a browser opens at a sign-in: types the name and the password if asked,
// allows or denies, and reads the page that the program shows at the end. Headless Chromium.
//
//   node browser.mjs URL --user U --password P [--deny] [--profile DIR] [--limit SECONDS]
//
// The packages are looked up in $PATCHBAY_NPM_DIR; $BROWSER_USER, $BROWSER_PASSWORD, $BROWSER_PROFILE
// and $BROWSER_DENY=1 stand in for the flags, $CHROMIUM for the program. With a profile the cookies are
// there the next time; browsers of one profile wait for each other. Prints one line of JSON: url
// (without its query), title, text, passwords and consents (how many were given), milliseconds. Ends
// with 0 when the sign-in's own pages were left, with 1 when it got stuck on one of them.
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

const { positionals: [url], values: options } = parseArgs({
  allowPositionals: true,
  options: {
    user: { type: 'string', default: process.env.BROWSER_USER },
    password: { type: 'string', default: process.env.BROWSER_PASSWORD },
    deny: { type: 'boolean', default: process.env.BROWSER_DENY === '1' },
    profile: { type: 'string', default: process.env.BROWSER_PROFILE },
    limit: { type: 'string', default: '30' },
  },
});
const { chromium } = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'))('playwright-core');
const began = Date.now();
const limit = Number(options.limit) * 1000;

// One browser at a time in a profile; what a dead one left is taken over.
async function hold(file) {
  for (;;) {
    try {
      writeFileSync(file, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    try {
      const holder = Number(readFileSync(file, 'utf8'));
      if (holder) process.kill(holder, 0);
    } catch (error) {
      if (error.code === 'ESRCH') rmSync(file, { force: true });
    }
    if (Date.now() - began > limit) throw new Error(`another browser keeps ${file}`);
    await sleep(20);
  }
}

const profile = options.profile ?? mkdtempSync(join(tmpdir(), 'patchbay-browser.'));
mkdirSync(profile, { recursive: true });
const lock = join(profile, 'in-use');
const seen = { passwords: 0, consents: 0 };
let context;
let found;
let held = false;
try {
  await hold(lock);
  held = true;
  context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    timeout: limit,
    // What it writes for all of its profiles goes there too.
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
    args: ['--disable-gpu', '--disable-dev-shm-usage', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
  });
  context.setDefaultTimeout(limit);
  const page = context.pages()[0] ?? (await context.newPage());
  const press = (button) => Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.click(button)]);
  await page.goto(url, { waitUntil: 'load' });
  const issuer = new URL(url).origin;
  let stuck = false;
  while (!stuck && new URL(page.url()).origin === issuer) {
    if ((await page.$('#complaint, #error')) || Date.now() - began > limit) {
      stuck = true;
    } else if (await page.$('input[type=password]')) {
      await page.fill('input[name=user]', options.user);
      await page.fill('input[type=password]', options.password);
      ++seen.passwords;
      await press('button[value=login]');
    } else if (await page.$('button[value=allow]')) {
      if (!options.deny) ++seen.consents;
      await press(options.deny ? 'button[value=deny]' : 'button[value=allow]');
    } else {
      stuck = true;
    }
  }
  const at = new URL(page.url());
  found = { url: at.origin + at.pathname, title: await page.title(), text: await page.innerText('body') };
  process.exitCode = stuck ? 1 : 0;
} catch (error) {
  found = { error: error.message.split('\n')[0] };
  process.exitCode = 1;
}
// Who reads the line may count on the browser being gone.
await context?.close();
if (held) rmSync(lock);
if (!options.profile) rmSync(profile, { recursive: true, force: true });
console.log(JSON.stringify({ ...found, ...seen, milliseconds: Date.now() - began }));
