import assert from 'node:assert/strict'
import { postGrant } from '#ledger/grant.ts'
import { DAY_SECONDS, HOUR_SECONDS } from '#lib/time.ts'
import { accountsMigrations } from '#main/stores.ts'
import type { Statement } from '#money/statements/statement-shape.ts'
import { sql } from '#store/sql.ts'
import { bodyOf, codeOf } from '#test/callers/callers-harness.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { startPostgres } from '../postgres.ts'
import { createMoneyWorld } from './money-world.ts'
import { askStatement, type Question } from './statement-book.ts'

const onBoth = eachEngine(startPostgres, accountsMigrations)

/** The world's clock begins on 2026-11-21 at noon; a free key has 10 calls a day. */
const FIRST = '2026-11-21'

function open(engine: Parameters<typeof createMoneyWorld>[0]) {
  const world = createMoneyWorld(engine)
  const ask = (question: Question) => askStatement({ engine, world }, question)
  const statementOf = async (question: Question) =>
    bodyOf<{ statement: Statement }>(await ask(question)).statement
  return { world, ask, statementOf }
}

const short = ({ movements }: Statement) =>
  movements.map(({ kind, date, amountMicroUsd, detail, otherPublicId, calls, ofDate }) =>
    [kind, date, amountMicroUsd, calls, ofDate, detail, otherPublicId].filter(Boolean).join(' '),
  )

onBoth('a statement has every movement of its days, and its balances add up', async (store) => {
  const { engine } = store
  const { world, statementOf } = open(engine)
  const key = await world.mint()
  await world.deposit({ payer: key.wallet, key, amount: 5_000n })
  await world.confirm()
  await engine.write((tx) =>
    postGrant(tx, {
      id: 'ticket-17',
      publicId: key.publicId,
      microUsd: 700n,
      reason: 'outage of 3 March',
      createdUnix: world.callers.now.ms / 1000,
    }),
  )
  await world.call(key, 10 + 3)
  await world.reorg(16, false)
  const other = await world.mint(key.wallet)
  await world.move(key, other)
  await world.wait(DAY_SECONDS)
  const statement = await statementOf({ key, from: FIRST, to: '2026-11-22' })
  // Within a second, entries are ordered by their ids, which are random.
  assert.deepEqual(short(statement).sort(), [
    `charges ${FIRST} -300 3`,
    `deposit ${FIRST} 5000`,
    `grant ${FIRST} 700 outage of 3 March`,
    `move ${FIRST} -400 owner ${other.publicId}`,
    `reversal ${FIRST} -5000`,
  ])
  assert.deepEqual([statement.openingBalanceMicroUsd, statement.closingBalanceMicroUsd], ['0', '0'])
  assert.deepEqual(statement.freeCalls, [{ date: FIRST, calls: 10 }])
  const deposit = statement.movements.find(({ kind }) => kind === 'deposit')
  assert.equal(deposit?.depositMicroUsd, '5000')
  assert.equal(deposit?.payerAddress, key.wallet.address)
  assert.match(deposit?.txHash ?? '', /^0x[0-9a-f]{64}$/)
  assert.deepEqual([deposit?.chainId, deposit?.logIndex, deposit?.positionInTx], [8453, 0, 0])
})

onBoth('money that follows a rotation leaves one statement and enters the next', async (store) => {
  const { world, ask, statementOf } = open(store.engine)
  const old = await world.mint()
  await world.deposit({ payer: old.wallet, key: old, amount: 1_000n })
  await world.confirm()
  const key = await world.rotate(old)
  assert.ok(key !== undefined)
  await world.wait(DAY_SECONDS)
  const days = { key, from: FIRST, to: '2026-11-22' }
  assert.deepEqual(short(await statementOf(days)), [`move ${FIRST} 1000 rotation ${old.publicId}`])
  assert.deepEqual(short(await statementOf({ ...days, publicId: old.publicId })), [
    `deposit ${FIRST} 1000`,
    `move ${FIRST} -1000 rotation ${key.publicId}`,
  ])
  const stranger = await world.mint()
  const refused = await ask({ ...days, key: stranger, publicId: old.publicId })
  assert.equal(codeOf(refused), 'not_key_owner')
  assert.equal(codeOf(await ask({ ...days, publicId: '00000000' })), 'key_not_found')
})

onBoth(
  'only whole days that are closed have a statement, and a refusal says which',
  async (store) => {
    const { world, ask } = open(store.engine)
    const key = await world.mint()
    await world.deposit({ payer: key.wallet, key, amount: 1_000n })
    await world.confirm()
    await world.call(key, 11)
    const reasonOf = async (from: string, to: string) => {
      const outcome = await ask({ key, from, to })
      return outcome.kind === 'refusal' ? outcome.message : outcome.kind
    }
    assert.equal(
      await reasonOf(FIRST, '2026-11-22'),
      `to must be at most ${FIRST}: later days are not closed yet`,
    )
    assert.match(
      await reasonOf('2026-11-01T04:00:00Z', FIRST),
      /^from must be the start of a UTC day, such as 2026-11-01 or 2026-11-02$/,
    )
    assert.equal(await reasonOf(FIRST, FIRST), `to must be later than from, ${FIRST}`)
    assert.match(await reasonOf('2026-02-31', FIRST), /^from must be a UTC day/)
    assert.equal(await reasonOf('1793491200', `${FIRST}T00:00:00+00:00`), 'answer')
    world.callers.now.ms += (12 + 1) * HOUR_SECONDS * 1000
    assert.equal(codeOf(await ask({ key, from: FIRST, to: '2026-11-22' })), 'data_not_ready')
    await world.wait(60)
    assert.equal(await reasonOf(FIRST, '2026-11-22'), 'answer')
  },
)

onBoth('pruned counters change no statement', async (store) => {
  const { engine } = store
  const { world, statementOf } = open(engine)
  const first = await world.mint()
  const second = await world.mint(first.wallet)
  for (const key of [first, second]) {
    await world.deposit({ payer: key.wallet, key, amount: 1_000n })
    await world.confirm()
  }
  await world.call(first, 4)
  await world.call(second, 6 + 2)
  await world.call(first, 3)
  await world.wait(DAY_SECONDS)
  await world.call(first, 1)
  await world.wait(DAY_SECONDS)
  const days = { from: FIRST, to: '2026-11-23' }
  const before = [
    await statementOf({ key: first, ...days }),
    await statementOf({ key: second, ...days }),
  ]
  assert.deepEqual(
    before.map(({ freeCalls }) => freeCalls),
    [[{ date: FIRST, calls: 4 }], [{ date: FIRST, calls: 6 }]],
  )
  await world.wait(400 * DAY_SECONDS)
  const left = await engine.read(sql`select day from usage_days`)
  assert.equal(left.length, 1, 'the day without paid calls is gone')
  assert.deepEqual(
    [await statementOf({ key: first, ...days }), await statementOf({ key: second, ...days })],
    before,
  )
})
