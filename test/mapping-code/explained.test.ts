import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { accounts, addresses } from '#devnet/addresses.ts'
import type { Problem } from '#ecosystem/problem.ts'
import { checkFile } from '#ops/setup/check-file.ts'
import { logOf } from '#test/chain-builder/log-plans.ts'
import { serveChain } from '#test/chain-builder/serve-chain.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { baseWith, onBase } from '#test/token-world.ts'
import { digsBy, withModule } from './code-world.ts'

const { grave, graveyard } = addresses.base
const { holder, operator } = accounts
const transfer = 'event Transfer(address indexed from, address indexed to, uint256 value)'
const clock = Date.now

/** Rows of the digs whose grave is even, one for each transfer beside. */
const BESIDE = `export function rows({ args, logs }) {
  if (args.graveId === 3n) throw new Error('grave 3 is cursed')
  if (args.graveId % 2n === 1n) return []
  return logs.map((log) => ({ digger: args.digger, amount: log.args.value }))
}
`

const tx = (id: bigint) => [
  logOf.mint(grave, operator, 2n * 10n ** 18n),
  logOf.dig(graveyard, holder, id, 1n),
  logOf.mint(grave, operator, 10n ** 18n),
]

async function check(ids: readonly bigint[], source = BESIDE) {
  const node = await serveChain(baseWith(...ids.map(tx)))
  try {
    let outcome: { rows: readonly string[]; errors: readonly Problem[] } = { rows: [], errors: [] }
    await withModule(source, async (path) => {
      const withTransfers = digsBy(path, { with: [{ address: grave, event: transfer }] })
      const ecosystem = localEcosystemAt({ base: node.url }, (file) => withTransfers(onBase(file)))
      const file = join(path, '../sexton.json')
      writeFileSync(file, JSON.stringify(ecosystem.file))
      const checked = await checkFile(clock, { file, offline: false, onProgress() {} })
      rmSync(file)
      outcome = {
        rows: checked.rows.map(({ field, message }) => `${field}: ${message}`),
        errors: checked.errors.filter(({ field }) => field.startsWith('graveDigs')),
      }
    })
    return outcome
  } finally {
    await node.stop()
  }
}

test('check runs the module on the newest logs, and shows each row and why there is none', async () => {
  const { rows, errors } = await check([1n, 2n])
  const [left, zeroth, next, ...more] = rows
  assert.equal(left, 'graveDigs[0]: block 2, log 1: left out by digs.ts')
  assert.match(zeroth ?? '', /^graveDigs\[0\]: block 3, log 1, row 0: counted: dig, 2 GRAVE by/)
  assert.match(next ?? '', /^graveDigs\[0\]: block 3, log 1, row 1: counted: dig, 1 GRAVE by/)
  assert.deepEqual([more, errors], [[], []])
})

test('check is wrong if a log becomes an anomaly', async () => {
  const { errors } = await check([3n])
  const message = 'not counted, reported as an anomaly: digs.ts: Error: grave 3 is cursed'
  assert.deepEqual(errors, [{ field: 'graveDigs[0].rows', message }])
})
