import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { parseSigningKeys } from '#lib/signing-keys.ts'
import { signStatement } from '#money/statements/sign-statement.ts'
import type { Statement } from '#money/statements/statement-shape.ts'
import { nodeEnvironment } from '#test/node-environment.ts'

const folder = await mkdtemp(join(tmpdir(), 'sexton-statement-'))
after(() => rm(folder, { recursive: true }))

const { privateKey } = generateKeyPairSync('ed25519')
const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
const keys = parseSigningKeys(pem)
assert.ok('kid' in keys)

const STATEMENT: Statement = {
  service: {
    name: 'Data',
    url: 'https://data.example',
    jwksUrl: 'https://data.example/j',
    payTo: [],
  },
  key: { publicId: '0a1b2c3d', ownerAddress: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' },
  period: { from: '2026-11-01', to: '2026-12-01' },
  openingBalanceMicroUsd: '500',
  closingBalanceMicroUsd: '1000',
  movements: [
    {
      kind: 'grant',
      id: 'grant:1',
      date: '2026-11-02',
      bookedAt: '2026-11-02T10:00:00Z',
      amountMicroUsd: '700',
      detail: 'a reason with "quotes", commas\nand a second line',
    },
    {
      kind: 'charges',
      id: 'calls:key:0a1b2c3d:2026-11-03@100',
      date: '2026-11-03',
      bookedAt: '2026-11-04T01:00:00Z',
      amountMicroUsd: '-200',
      calls: 2,
      priceMicroUsd: '100',
    },
  ],
  freeCalls: [{ date: '2026-11-03', calls: 10 }],
}

async function audit(text: string, ...parameters: readonly string[]) {
  const file = join(folder, 'statement')
  await writeFile(file, text)
  const program = join(import.meta.dirname, 'sexton.mjs')
  const child = spawn(process.execPath, [program, 'audit', '--statement', file, ...parameters], {
    env: { ...nodeEnvironment, SEXTON_DATA: join(folder, 'none'), LOG_FORMAT: 'pretty' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { text: '' }
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => {
      output.text += part
    })
  const [code] = await once(child, 'close')
  return { code, text: output.text }
}

test('sexton audit --statement ends with 0 for a good statement, 1 for a changed one, 2 without keys', async () => {
  const jwks = join(folder, 'jwks.json')
  await writeFile(jwks, JSON.stringify(keys.jwks))
  const good = JSON.stringify(await signStatement(keys, STATEMENT))
  const { code, text } = await audit(good, '--jwks', jwks)
  assert.equal(code, 0, text)
  assert.match(text, /signed by the key/)
  assert.match(text, /not compared with the ledger and the chain: no accounts in/)
  const changed = await audit(good.replace('"700"', '"701"'), '--jwks', jwks)
  assert.equal(changed.code, 1)
  assert.match(changed.text, /WRONG {2}the statement that the file shows is not the one that is/)
  const unbalanced = { ...STATEMENT, closingBalanceMicroUsd: '1001' }
  const odd = await audit(JSON.stringify(await signStatement(keys, unbalanced)), '--jwks', jwks)
  assert.equal(odd.code, 1)
  assert.match(odd.text, /WRONG {2}the opening balance and all movements are 1000, but the closing/)
  const unnamed = await audit(good)
  assert.equal(unnamed.code, 2)
  assert.match(
    unnamed.text,
    /name the key set with --jwks <url or file>, or set SEXTON_SIGNING_KEYS/,
  )
})
