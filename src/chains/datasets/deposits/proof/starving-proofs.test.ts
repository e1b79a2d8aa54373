import assert from 'node:assert/strict'
import { openRpcSource } from '#chains/chain/rpc-source.ts'
import { registerMigrations } from '#chains/datasets/datasets.ts'
import { accounts } from '#devnet/addresses.ts'
import { rows, sql, toStored } from '#store/sql.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { startPostgres } from '#test/postgres.ts'
import { eachEngine } from '#test/store/each-engine.ts'
import { DepositProver } from './prove-deposits.ts'

const onEach = eachEngine(startPostgres, registerMigrations)

/** More than one round proves. */
const PAID_PER_LOOK = 20

onEach('a deposit is eventually proven, however many newer ones arrive', async ({ engine }) => {
  const url = 'http://127.0.0.1:1'
  const ecosystem = localEcosystemAt({ base: url })
  const { payment } = ecosystem
  assert.ok(payment !== null)
  const chainId = payment.chain.id
  const headerOf = (number: number) => {
    const hash = `0x${number.toString(16).padStart(64, '0')}` as const
    return { number, hash, parentHash: hash, timestamp: number, logsBloom: hash }
  }
  let newest = 0
  const payInBlocks = async (count: number) => {
    const paid = Array.from({ length: count }, () => {
      newest += 1
      const { hash } = headerOf(newest)
      const block = [chainId, newest, 0, hash, newest, hash, 0]
      return [...block, accounts.holder, accounts.payTo, toStored(1n)]
    })
    await engine.write((connection) =>
      connection.run(sql`
        insert into deposits (chain_id, block_number, place, block_hash, timestamp_unix, tx_hash,
          position_in_tx, sender, recipient, amount)
        values ${rows(paid)}`),
    )
  }
  await engine.write((connection) =>
    connection.run(sql`
      insert into positions
        (chain_id, number, hash, timestamp_unix, head_number, safe_number, finalized_number)
      values (${chainId}, 9000, '0xff', 1, 9000, 9000, 9000)`),
  )
  const proven: number[] = []
  const source = {
    ...openRpcSource({ chainId, urls: [url] }),
    header: async (block: unknown) => headerOf(Number(block)),
    async provenBlock({ number }: { readonly number: number }) {
      proven.push(number)
      return { header: headerOf(number), logs: [] }
    },
  }
  const prover = new DepositProver({
    register: engine,
    payment,
    source,
    clock: Date.now,
    report: () => undefined,
  })
  await payInBlocks(2 * PAID_PER_LOOK)
  for (let look = 0; look < 3; look += 1) {
    await prover.proveStored(new AbortController().signal)
    assert.ok(proven.includes(newest), 'new payments do not wait for older ones')
    await payInBlocks(PAID_PER_LOOK)
  }
  assert.deepEqual(
    Array.from({ length: PAID_PER_LOOK }, (_, index) => index + 1).filter(
      (number) => !proven.includes(number),
    ),
    [],
  )
})
