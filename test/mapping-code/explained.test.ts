import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { accounts, addresses } from '#devnet/addresses.ts'
import { checkFile } from '#operations/setup/check-file.ts'
import { explainMapping } from '#operations/setup/explain-mapping.ts'
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
  if (args.graveId === 13n) for (;;) {}
  if (args.graveId % 2n === 1n) return []
  return logs.map((log) => ({ digger: args.digger, amount: log.args.value }))
}
`

const tx = (id: bigint) => [
  logOf.mint(grave, operator, 2n * 10n ** 18n),
  logOf.dig(graveyard, holder, id, 1n),
  logOf.mint(grave, operator, 10n ** 18n),
]

async function explain(ids: readonly bigint[], source = BESIDE) {
  const node = await serveChain(baseWith(...ids.map(tx)))
  try {
    const outcomes: unknown[] = []
    await withModule(source, async ({ path }) => {
      const withTransfers = digsBy(path, { with: [{ address: grave, event: transfer }] })
      const ecosystem = localEcosystemAt({ base: node.url }, (file) => withTransfers(onBase(file)))
      const { logs } = await explainMapping({ clock }, { ecosystem, mapping: 'graveDigs[0]' })
      outcomes.push(...logs.map(({ outcome }) => outcome))
      const file = join(path, '../sexton.json')
      writeFileSync(file, JSON.stringify(ecosystem.file))
      const checked = await checkFile(
        { clock, onProgress: () => undefined },
        { file, offline: false },
      )
      rmSync(file)
      const own = checked.errors.filter(({ field }) => field.startsWith('graveDigs'))
      outcomes.push(
        checked.rows.map(({ field, message }) => `${field}: ${message}`),
        own,
      )
    })
    return outcomes
  } finally {
    await node.stop()
  }
}

test('explain and check run the module on the newest logs, and show each row and why there is none', async () => {
  const [first, second, rows, errors] = await explain([1n, 2n])
  assert.equal(first, 'left out: digs.ts makes no row of it')
  assert.match(
    String(second),
    /^row 0 of digs.ts: counted: dig, 2 GRAVE by 0x\S+\n {2}row 1 of digs.ts: counted: dig, 1 GRAVE by 0x\S+$/,
  )
  const [left, zeroth, next, ...more] = rows as readonly string[]
  assert.equal(left, 'graveDigs[0]: block 2, log 1: left out by digs.ts')
  assert.match(zeroth ?? '', /^graveDigs\[0\]: block 3, log 1, row 0: counted: dig, 2 GRAVE by/)
  assert.match(next ?? '', /^graveDigs\[0\]: block 3, log 1, row 1: counted: dig, 1 GRAVE by/)
  assert.deepEqual([more, errors], [[], []])
})

test('check is wrong if a log becomes an anomaly, and explain says why', async () => {
  const [outcome, , errors] = await explain([3n])
  assert.equal(
    outcome,
    'not counted, reported as an anomaly: digs.ts: line 2: Error: grave 3 is cursed',
  )
  assert.deepEqual(errors, [{ field: 'graveDigs[0].rows', message: outcome }])
})

test('check is wrong if a log stalls its dataset', async () => {
  const [outcome, , errors] = await explain([13n])
  assert.match(
    String(outcome),
    /^stalls the dataset, which nothing skips: digs.ts: took more than 1000 ms at log 1 of 0x/,
  )
  assert.deepEqual(errors, [{ field: 'graveDigs[0].rows', message: outcome }])
})
