import { unixNow } from '#base/time.ts'
import { registerName } from '#data/datasets.ts'
import { storeEvents } from '#data/events/event-dataset.ts'
import type { Engine } from '#db/engine.ts'
import { parseEcosystem } from '#ecosystem/load-ecosystem.ts'
import type { CommitDeps } from '#index/commit.ts'
import type { EventFact } from '#index/event.ts'
import { Changes, readEnd, showCursor, writeFeed } from '#index/feed.ts'
import { openStore } from '#main/stores.ts'
import { commitDepsOf } from '#test/stepped-index.ts'
import { benchChain, benchEcosystem } from '#tools/bench/index/bench-ecosystem.ts'
import type { SextonPlace } from '#tools/bench/start-sexton.ts'

const BURNS_A_BLOCK = 500

/** The head of the small chain is far below. */
const FIRST_BLOCK = 10_000_000

const BURNS = 'burns'

/** Adds burns at the head, block by block, each final 64 blocks later; gives the ends of the feed. */
export async function fillFeed(
  { folder, databaseUrl }: SextonPlace,
  changes: number,
): Promise<{ readonly first: string; readonly last: number }> {
  const ecosystem = parseEcosystem('bench', benchEcosystem(['http://127.0.0.1:9']))
  const engine = await openStore(
    `${folder}/data`,
    registerName(ecosystem),
    databaseUrl === undefined ? { kind: 'sqlite' } : { kind: 'postgres', url: databaseUrl },
  )
  try {
    const deps = await commitDepsOf(engine, ecosystem)
    const first = await endOf(engine)
    const blocks = Math.floor(changes / (BURNS_A_BLOCK + 1))
    for (let block = 0; block < blocks; block += 1) await commit(deps, FIRST_BLOCK + block)
    return { first: showCursor(first), last: (await endOf(engine)).sequence }
  } finally {
    await engine.close()
  }
}

async function endOf(engine: Engine) {
  const end = await engine.snapshot(readEnd)
  if (end === undefined) throw new Error('the register has no feed')
  return end
}

function commit({ engine, leader, prices, clock }: CommitDeps, block: number): Promise<void> {
  const finalizedNumber = block - 64
  const finalizedBefore = finalizedNumber - 1
  const burns = Array.from({ length: BURNS_A_BLOCK }, (_, index) => burnAt(block, index))
  return engine.write(async (connection) => {
    await leader.hold(connection)
    const change = { connection, chainId: benchChain.id, finalizedNumber, prices }
    const changes = new Changes()
    await storeEvents({ ...change, changes }, BURNS, burns)
    const nowUnix = unixNow(clock)
    await writeFeed(connection, prices, { ...change, changes, finalizedBefore, nowUnix })
  })
}

function burnAt(blockNumber: number, logIndex: number): EventFact {
  const hash: `0x${string}` = `0x${(blockNumber * 1_000 + logIndex).toString(16).padStart(64, '0')}`
  const log = {
    ...{ chainId: benchChain.id, blockNumber, blockHash: hash, txHash: hash },
    ...{ txIndex: logIndex, logIndex, timestamp: 1_700_000_000 + 2 * (blockNumber - FIRST_BLOCK) },
  }
  const account: `0x${string}` = `0x${hash.slice(-40)}`
  const fact = { kind: 'burn', token: 'GRAVE', account, amount: 10n ** 18n, detail: null }
  return { ...fact, counted: true, log: log as EventFact['log'] }
}
