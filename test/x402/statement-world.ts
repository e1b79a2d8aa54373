import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { parseEcosystem } from '#chains/ecosystem/load-ecosystem.ts'
import { payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import { PACKAGE_ROOT } from '#lib/package-root.ts'
import { DAY_SECONDS, HOUR_SECONDS, startOfDay, toDate } from '#lib/time.ts'
import { auditStatement } from '#operations/audit/statement/audit-statement.ts'
import { eventually, type MintedKey } from '../world.ts'
import { passBlocks, type X402World } from './x402-world.ts'

/** A file of a new signing key, as an operator makes it. */
export function newSigningKeys(): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'sexton-signing-'))
  const file = join(folder, 'signing.pem')
  const { privateKey } = generateKeyPairSync('ed25519')
  writeFileSync(file, privateKey.export({ format: 'pem', type: 'pkcs8' }), { mode: 0o600 })
  return { file, remove: () => rmSync(folder, { recursive: true }) }
}

/** Pays a dollar by a transfer that its sender registers, and waits for the credit. */
export async function prepay({ api, base }: X402World, key: MintedKey): Promise<void> {
  const pay = { from: accounts.holder, to: accounts.payTo, amount: 1_000_000n }
  const txHash = await payUsdc(base, pay)
  const claim = { apiKeyPublicId: key.publicId, txHash, payerAddress: pay.from, amountUsd: 1 }
  const { body } = await api.post('/api/sessions/prepay', claim)
  await passBlocks(base, 3)
  await eventually(async () => {
    const record = await api.get(`/api/sessions/prepay/${body.id}?wait=5`)
    return record.body.verified ? record.body : undefined
  }, 60_000)
}

export interface Statements {
  readonly json: string
  readonly csv: string
  readonly jwks: unknown
}

/** The statements of today, asked for an hour and more into tomorrow. */
export async function readStatements(
  { api, now, origin }: X402World,
  key: MintedKey,
): Promise<Statements> {
  const today = startOfDay(Date.now() / 1000)
  const [from, to] = [toDate(today), toDate(today + DAY_SECONDS)]
  now.ms = (today + DAY_SECONDS + 2 * HOUR_SECONDS) * 1000 - Date.now()
  const path = `/api/usage/statement?from=${from}&to=${to}`
  assert.equal((await api.get(path)).body.error, 'invalid_api_key')
  const { text: json } = await eventually(async () => {
    const answer = await api.get(path, key.authorization)
    return answer.status === 200 ? answer : undefined
  }, 20_000)
  const { text: csv } = await api.get(`${path}&format=csv`, key.authorization)
  assert.equal((await api.get(path, key.authorization)).text, json)
  const keySet = await fetch(`${origin}/.well-known/jwks.json`)
  assert.equal(keySet.headers.get('content-type'), 'application/jwk-set+json')
  const etag = keySet.headers.get('etag') ?? ''
  const again = await fetch(keySet.url, { headers: { 'If-None-Match': etag } })
  assert.equal(again.status, 304)
  return { json, csv, jwks: await keySet.json() }
}

/** What the operator's audit says; without a world only the file and the key set are looked at. */
export async function auditText(
  text: string,
  jwks: unknown,
  world?: X402World,
): Promise<readonly string[]> {
  const none = { dataFolder: '/nonexistent', database: { kind: 'sqlite' } } as const
  return auditStatement(
    {
      settings: world?.settings ?? none,
      ecosystem: async () => {
        assert.ok(world !== undefined)
        return parseEcosystem('local.ts', world.file)
      },
      logger: pino({ level: 'silent' }),
      note: () => undefined,
    },
    { text, jwks },
  )
}

/** Reads statements with `examples/verify-statement.py`, which shares no code. Undefined without Python. */
export function verifyApart(
  jwks: unknown,
  texts: readonly string[],
): readonly string[] | undefined {
  if (spawnSync('python3', ['--version']).status !== 0) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'sexton-statements-'))
  try {
    const keySet = join(folder, 'jwks.json')
    writeFileSync(keySet, JSON.stringify(jwks))
    const files = texts.map((text, index) => {
      const file = join(folder, `${index}`)
      writeFileSync(file, text)
      return file
    })
    const program = join(PACKAGE_ROOT, 'examples/verify-statement.py')
    const { stdout, stderr } = spawnSync('python3', [program, keySet, ...files], {
      encoding: 'utf8',
    })
    assert.equal(stderr, '')
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(line.indexOf(': ') + 2))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
