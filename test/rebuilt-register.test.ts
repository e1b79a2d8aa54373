import assert from 'node:assert/strict'
import { copyFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { registerName } from '#data/datasets.ts'
import { sql } from '#db/sql.ts'
import { openSqlite } from '#db/sqlite/open-sqlite.ts'
import { mine, payUsdc } from '#devnet/actions.ts'
import { accounts } from '#devnet/addresses.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import { storeFile } from '#main/registers.ts'
import { type RunningService, runService } from '#main/run-service.ts'
import { auditAll } from '#ops/audit/audit.ts'
import { mintOpened, newPayer, payingFetch, startX402World } from '#test/x402/x402-world.ts'
import { isLongVersion } from './long-version.ts'
import { eventually } from './world.ts'

/** An old backup of the accounts with a fresh register, or with one built from another file. */
const world = await startX402World()
const { config, base, devnet, api } = world
after(async () => {
  await devnet.stop()
  const folders = [config.dataFolder, dirname(config.settling?.keyFile ?? '')]
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

test('prepaid and x402 credits survive a fresh register and edits of payment', async () => {
  const key = await mintOpened(world, devnet.wallets.holder)
  assert.equal((await api.get('/api/stats', key.authorization)).status, 200, 'the one free call')
  const txHash = await payUsdc(base, {
    ...{ from: accounts.holder, to: accounts.payTo, amount: 1_000_000n },
  })
  const claim = {
    apiKeyPublicId: key.publicId,
    txHash,
    payerAddress: accounts.holder,
    amountUsd: 1,
  }
  assert.equal((await api.post('/api/sessions/prepay', claim)).status, 201)
  await mine(base, { blocks: 3 })
  await untilVerified(txHash)
  assert.equal((await api.get('/api/stats')).status, 200, 'the one free call of the address')
  const paying = payingFetch(await newPayer(base, 5_000_000n))
  assert.equal((await paying(`${world.origin}/api/stats`)).status, 200)
  await mine(base, { blocks: 5 })
  await world.service.stop()
  const backup = `${storeFile(config.dataFolder, 'accounts')}.backup`
  copyFileSync(storeFile(config.dataFolder, 'accounts'), backup)
  assert.deepEqual(await creditsOf(), { live: 2, reversed: 0 })

  const more = isLongVersion ? [moveStart, replaceReceiver] : []
  for (const change of [forgetRegister, ...more, withoutPayment])
    await test(`no credit is reversed: ${change.name}`, () => liveWith(change, backup))
})

async function untilVerified(txHash: string): Promise<void> {
  await eventually(async () => {
    const { body } = await api.get(`/api/sessions/prepay/${txHash}?wait=5`)
    return body.verified ? true : undefined
  }, 60_000)
}

type Change = (file: EcosystemFile) => EcosystemFile

function forgetRegister(file: EcosystemFile): EcosystemFile {
  const name = registerName(parseEcosystem('forgotten', file))
  for (const end of ['', '-wal', '-shm'])
    rmSync(`${storeFile(config.dataFolder, name)}${end}`, { force: true })
  return file
}

const moveStart: Change = (file) => ({
  ...file,
  chains: file.chains.map((chain) => ({ ...chain, startBlock: 1 })),
})

const replaceReceiver: Change = (file) => ({
  ...file,
  ...(file.payment && {
    payment: { ...file.payment, payTo: [{ address: accounts.operator, since: '2025-01-01' }] },
  }),
})

const withoutPayment: Change = ({ payment: _, ...file }) => file

/** Runs a service with the backup until everything is read and the verifier has passed several times. */
async function liveWith(change: Change, backup: string): Promise<void> {
  copyFileSync(backup, storeFile(config.dataFolder, 'accounts'))
  const file = change(world.file)
  const ecosystem = parseEcosystem('changed', file)
  const service = await startService(file)
  while ((await service.indexed()) !== 'all') await sleep(20)
  await mine(base, { blocks: 3 })
  // The verifier passes once a second.
  await sleep(3_000)
  const notes: string[] = []
  const found = await auditAll({
    ...{ config, ecosystem, clock: Date.now, logger: pino({ level: 'silent' }) },
    ...{ onProgress: () => undefined, note: (line: string) => void notes.push(line) },
  })
  await service.stop()
  // Reversals are separate entries that are never deleted, so none was made at any time.
  assert.deepEqual(await creditsOf(), { live: 2, reversed: 0 })
  assert.deepEqual(found, [])
  const isCovered = change === forgetRegister || change === moveStart
  assert.equal(
    notes.some((line) => /^2 credits belong to payments that/.test(line)),
    !isCovered,
  )
}

function startService(ecosystemFile: EcosystemFile): Promise<RunningService> {
  return runService({
    config: ecosystemFile.payment === undefined ? { ...config, settling: undefined } : config,
    ...{ ecosystemName: 'changed', ecosystemFile, clock: Date.now },
    ...{ logger: pino({ level: 'warn' }) },
    onProgress: () => undefined,
  })
}

async function creditsOf() {
  const file = storeFile(config.dataFolder, 'accounts')
  const engine = openSqlite({ file, durability: 'normal' })
  try {
    const [live, reversals] = [
      await engine.read(sql`select id from credits where reversed_unix is null`),
      await engine.read(sql`select id from journal_entries where kind = 'reversal'`),
    ]
    return { live: live.length, reversed: reversals.length }
  } finally {
    await engine.close()
  }
}
