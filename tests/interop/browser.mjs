// What a person does when a browser opens at a sign-in: types the name and the password if asked,
// allows or denies, and reads the page that the program shows at the end. Headless Chromium.
//
//   node browser.mjs URL --user U --password P [--deny] [--profile DIR] [--limit SECONDS]
//   node browser.mjs --stay --profile DIR --user U --password P
//
// The packages are looked up in $PATCHBAY_NPM_DIR; $BROWSER_USER, $BROWSER_PASSWORD, $BROWSER_PROFILE
// and $BROWSER_DENY=1 stand in for the flags, $CHROMIUM for the program. With a profile the cookies are
// there the next time; browsers of one profile wait for each other. Prints one line of JSON: url
// (without its query), title, text, passwords and consents (how many were given), milliseconds. Ends
// with 0 when the sign-in's own pages were left, with 1 when it got stuck on one of them.
//
// --stay is a browser that is open all the time, until its stdin is closed: it prints "ready", and what
// is started with the same profile opens in it, which saves the second that Chromium takes to start.
import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
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
    stay: { type: 'boolean', default: false },
  },
});
const began = Date.now();
const limit = Number(options.limit) * 1000;
const profile = options.profile ?? mkdtempSync(join(tmpdir(), 'patchbay-browser.'));
mkdirSync(profile, { recursive: true });
const lock = join(profile, 'in-use');
const socket = join(profile, 'stay');

function end(found) {
  process.exitCode = found.stuck || found.error ? 1 : 0;
  console.log(JSON.stringify({ ...found, milliseconds: Date.now() - began }));
}

// What the browser that stays says about it; undefined when there is none.
function askTheOneThatStays() {
  return new Promise((done) => {
    const connection = connect(socket);
    connection.on('error', () => done(undefined));
    connection.on('connect', () => connection.write(`${JSON.stringify({ url, deny: options.deny })}\n`));
    createInterface({ input: connection }).on('error', () => {}).on('line', (line) => {
      connection.end();
      done(JSON.parse(line));
    });
  });
}

// One browser at a time in a profile; what a dead one left is taken over.
async function hold() {
  for (;;) {
    try {
      writeFileSync(lock, String(process.pid), { flag: 'wx' });
      return;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    try {
      const holder = Number(readFileSync(lock, 'utf8'));
      if (holder) process.kill(holder, 0);
    } catch (error) {
      if (error.code === 'ESRCH') rmSync(lock, { force: true });
    }
    if (Date.now() - began > limit) throw new Error(`another browser keeps ${profile}`);
    await sleep(20);
  }
}

async function launch() {
  const { chromium } = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'))('playwright-core');
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    timeout: limit,
    // What it writes for all of its profiles goes there too.
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
    args: ['--disable-gpu', '--disable-dev-shm-usage', ...(process.getuid() === 0 ? ['--no-sandbox'] : [])],
  });
  context.setDefaultTimeout(limit);
  return context;
}

// One sign-in, in a page of its own.
async function visit(context, { url, deny }) {
  const seen = { passwords: 0, consents: 0 };
  const started = Date.now();
  let page;
  try {
    page = await context.newPage();
    const press = (button) => Promise.all([page.waitForNavigation({ waitUntil: 'load' }), page.click(button)]);
    await page.goto(url, { waitUntil: 'load' });
    const issuer = new URL(url).origin;
    let stuck = false;
    while (!stuck && new URL(page.url()).origin === issuer) {
      if ((await page.$('#complaint, #error')) || Date.now() - started > limit) {
        stuck = true;
      } else if (await page.$('input[type=password]')) {
        await page.fill('input[name=user]', options.user);
        await page.fill('input[type=password]', options.password);
        ++seen.passwords;
        await press('button[value=login]');
      } else if (await page.$('button[value=allow]')) {
        if (!deny) ++seen.consents;
        await press(deny ? 'button[value=deny]' : 'button[value=allow]');
      } else {
        stuck = true;
      }
    }
    const at = new URL(page.url());
    return { url: at.origin + at.pathname, title: await page.title(), text: await page.innerText('body'), ...(stuck ? { stuck } : {}), ...seen };
  } catch (error) {
    return { error: error.message.split('\n')[0], ...seen };
  } finally {
    await page?.close();
  }
}

async function stay(context) {
  let turn = Promise.resolve();
  rmSync(socket, { force: true });
  const listener = createServer((connection) => {
    connection.on('error', () => {});
    createInterface({ input: connection }).on('error', () => {}).once('line', (line) => {
      turn = turn.then(async () => connection.end(`${JSON.stringify(await visit(context, JSON.parse(line)))}\n`));
    });
  });
  await new Promise((done) => listener.listen(socket, done));
  console.log('ready');
  process.stdin.resume();
  await new Promise((done) => process.stdin.on('end', done));
  listener.close();
}

const told = options.profile && !options.stay ? await askTheOneThatStays() : undefined;
if (told) {
  end(told);
} else {
  let context;
  let found;
  let held = false;
  try {
    await hold();
    held = true;
    context = await launch();
    found = options.stay ? await stay(context) : await visit(context, { url, deny: options.deny });
  } catch (error) {
    found = { error: error.message.split('\n')[0] };
  }
  // Who reads the line may count on the browser being gone.
  await context?.close();
  if (held) rmSync(lock);
  if (!options.profile) rmSync(profile, { recursive: true, force: true });
  if (found) end(found);
  else process.exit(0);
}
