import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { openSigningKeys } from './open-signing-keys.ts'

const folder = await mkdtemp(join(tmpdir(), 'sexton-signing-'))
after(() => rm(folder, { recursive: true }))
const file = join(folder, 'signing.pem')
const { privateKey } = generateKeyPairSync('ed25519')
const PEM = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))

test('a file that only the service can read is opened', async () => {
  await writeFile(file, PEM, { mode: 0o600 })
  assert.equal((await openSigningKeys(file)).jwks.keys.length, 1)
  await chmod(file, 0o440)
  assert.equal((await openSigningKeys(file)).jwks.keys.length, 1)
})

test('a file that others can read, with a wrong key, is refused for both', async () => {
  await chmod(file, 0o600)
  await writeFile(file, PEM.replace(/\n.+\n/, '\nAAAA\n'))
  await chmod(file, 0o644)
  await assert.rejects(openSigningKeys(file), {
    name: 'SettingsError',
    message: `SEXTON_SIGNING_KEYS: ${file}: others can read or change it: run chmod 600 ${file}; key 1 cannot be decoded. "openssl genpkey -algorithm ed25519" writes a key`,
  })
  await assert.rejects(openSigningKeys(join(folder, 'none')), /none cannot be read/)
})
