import { forgetAll } from '#chains/indexer/chain-notes.ts'
import type { CommitDeps } from '#chains/indexer/transaction.ts'
import { unixNow } from '#lib/time.ts'

/** Removes all that the register has, as another file does. */
export async function forgetRegister({ engine, leader, clock }: CommitDeps): Promise<void> {
  await engine.writeWithoutTimeout(async (connection) => {
    await leader.hold(connection)
    await forgetAll(connection, unixNow(clock))
  })
}
