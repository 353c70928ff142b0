// Whether npm `jose` accepts what our C++ has signed. Reads JSON lines, answers each with one:
// {"ok":true, …what was found} or {"ok":false,"why":…}.
//
//   {"kind":"jws", "token":…, "key": JWK or "pem": PUBLIC KEY, "alg":"ES256", "issuer"?, "subject"?, "audience"?, "typ"?}
//   {"kind":"dpop", "token": PROOF, "method":"POST", "url":…, "access_token"?, "nonce"?}
//   {"kind":"thumbprint", "key": JWK, "thumbprint":…}
//
// The packages are looked up in $PATCHBAY_NPM_DIR.
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const jose = createRequire(join(process.env.PATCHBAY_NPM_DIR, 'package.json'))('jose');

function expect(name, found, wanted) {
  if (found !== wanted) throw new Error(`${name} is ${found}, not ${wanted}`);
}

const kinds = {
  async jws({ token, key, pem, alg, issuer, subject, audience, typ }) {
    const verifier = pem ? await jose.importSPKI(pem, alg) : await jose.importJWK(key, alg);
    const { payload, protectedHeader } = await jose.jwtVerify(token, verifier, { algorithms: [alg], issuer, subject, audience, typ });
    return { payload, header: protectedHeader };
  },
  async dpop({ token, method, url, access_token, nonce }) {
    const { payload, protectedHeader } = await jose.jwtVerify(token, jose.EmbeddedJWK, { typ: 'dpop+jwt', maxTokenAge: 60 });
    const { jwk } = protectedHeader;
    for (const secret of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']) expect(`jwk.${secret}`, jwk[secret], undefined);
    expect('htm', payload.htm, method);
    expect('htu', payload.htu, url);
    expect('type of jti', typeof payload.jti, 'string');
    expect('nonce', payload.nonce, nonce);
    expect('ath', payload.ath, access_token && createHash('sha256').update(access_token).digest('base64url'));
    return { payload, thumbprint: await jose.calculateJwkThumbprint(jwk) };
  },
  async thumbprint({ key, thumbprint }) {
    const found = await jose.calculateJwkThumbprint(key);
    expect('thumbprint', thumbprint, found);
    return { thumbprint: found };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  if (!line.trim()) continue;
  try {
    const given = JSON.parse(line);
    if (!Object.hasOwn(kinds, given.kind)) throw new Error(`no kind ${given.kind}`);
    console.log(JSON.stringify({ ok: true, ...(await kinds[given.kind](given)) }));
  } catch (error) {
    console.log(JSON.stringify({ ok: false, why: error.message }));
  }
}
