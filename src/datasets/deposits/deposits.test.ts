import assert from 'node:assert/strict'
import { registerMigrations } from '#datasets/datasets.ts'
import { eachEngine } from '#ledger/each-engine.ts'
import { sql } from '#store/sql.ts'
import { startPostgres } from '#test/postgres.ts'
import { type DepositFact, storeDeposits } from './deposits.ts'

const onEach = eachEngine(startPostgres, registerMigrations)
const address = `0x${'1'.repeat(40)}` as const

function deposit(logIndex: number): DepositFact {
  const hashes = { blockHash: '0x05', txHash: '0x07' } as const
  const log = {
    ...{ chainId: 8453, blockNumber: 5, timestamp: 5, ...hashes },
    ...{ txIndex: 0, logIndex, address, topics: [], data: '0x' as const },
  }
  return { log, sender: address, recipient: address, amount: BigInt(logIndex) }
}

onEach(
  'the positions of deposits in their transaction follow its logs, whatever filter brought them',
  async ({ engine }) => {
    const found = await engine.write(async (connection) => {
      await storeDeposits(connection, [deposit(9), deposit(4)])
      return connection.run(sql`select place, position_in_tx from deposits order by place`)
    })
    assert.deepEqual(
      found.map((row) => [row.place, row.position_in_tx]),
      [
        [4, 0],
        [9, 1],
      ],
    )
  },
)
