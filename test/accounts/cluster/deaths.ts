import { kill } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from '#test/simulation/chance.ts'
import { withClient } from '#test/with-client.ts'
import type { Cluster, Member } from './cluster.ts'

export interface Deaths {
  /** How often each kind of death was died. */
  readonly counts: ReadonlyMap<string, number>
  /** The longest that the index stood still after its leader had ended, in milliseconds. */
  readonly standstillMs: number
}

const REPLICA_EVERY_MS = 1_000
const LEADER_EVERY_MS = 20_000
const POSTGRES_EVERY_MS = 60_000
/** Longer than the silence that ends the session of a leader. */
const FROZEN_MS = 12_000

/**
 * Kills a replica every second while another one serves, kills or freezes a leader every 20 s, inside of a
 * transaction or outside, and crashes PostgreSQL every minute, until told to stop.
 */
export async function killAround(
  input: {
    readonly cluster: Cluster
    readonly databaseUrl: string
    readonly chance: Chance
    /** Spares replicas and PostgreSQL. */
    readonly leadersOnly: boolean
    /** Ends blocks on the chains. */
    mine(blocks: number): Promise<void>
  },
  stop: AbortSignal,
): Promise<Deaths> {
  const { cluster, databaseUrl, chance } = input
  let standstillMs = 0
  const counts = new Map<string, number>()
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
  const restarts = new Set<Promise<void>>()
  const every = async (ms: number, act: () => Promise<void>) => {
    while (!stop.aborted) {
      await sleep(ms, undefined, { signal: stop }).catch(() => undefined)
      if (!stop.aborted) await act()
    }
  }
  const killReplica = async () => {
    const ready = cluster.members.filter((each) => each.isReady() && !frozen.has(each))
    const [first, second, ...rest] = ready
    if (first === undefined || second === undefined) return
    const chosen = chance.pick([first, second, ...rest])
    count('replica killed')
    const restart = chosen.killAndStart()
    restarts.add(restart)
    restart.finally(() => restarts.delete(restart)).catch(() => undefined)
  }
  const frozen = new Set<Member>()
  let turn = 0
  const endLeader = async () => {
    const what = turn % 2 === 0 ? 'index' : 'jobs'
    const isInside = Math.floor(turn / 2) % 2 === 0
    const isKill = Math.floor(turn / 4) % 2 === 0
    turn += 1
    const leader = await findLeader(cluster.members, what)
    if (leader === undefined) return count('no leader found')
    const { pid } = leader.process()
    const was = isInside && (await untilWriting(databaseUrl)) ? 'inside' : 'outside'
    if (isKill) kill(pid, 'SIGKILL')
    else kill(pid, 'SIGSTOP')
    count(`leader of ${what} ${isKill ? 'killed' : 'frozen'} ${was} a transaction`)
    const other = cluster.members.find((each) => each !== leader && each.isReady())
    const goingOn = other && untilIndexed(other, input.mine)
    if (isKill) await leader.killAndStart()
    else {
      frozen.add(leader)
      await sleep(FROZEN_MS)
      kill(pid, 'SIGCONT')
      frozen.delete(leader)
    }
    standstillMs = Math.max(standstillMs, (await goingOn) ?? 0)
  }
  const crash = async () => {
    await crashPostgres(databaseUrl)
    count('PostgreSQL crashed')
  }
  const leaders = every(LEADER_EVERY_MS, async () => void (await endLeader()))
  const others = [every(REPLICA_EVERY_MS, killReplica), every(POSTGRES_EVERY_MS, crash)]
  await Promise.all(input.leadersOnly ? [leaders] : [leaders, ...others])
  await Promise.all(restarts)
  return { counts, standstillMs }
}

/** Milliseconds until a process answers of a block that was mined from now on. */
async function untilIndexed(
  member: Member,
  mine: (blocks: number) => Promise<void>,
): Promise<number> {
  const startMs = performance.now()
  const before = await newestBlock(member)
  await mine(2)
  while ((await newestBlock(member)) <= before) await sleep(50)
  return performance.now() - startMs
}

async function newestBlock({ url }: Member): Promise<number> {
  const answer = await fetch(`${url}/readyz`).catch(() => undefined)
  return Number(/at block (\d+)/.exec((await answer?.text()) ?? '')?.[1] ?? 0)
}

async function findLeader(
  members: readonly Member[],
  what: 'index' | 'jobs',
): Promise<Member | undefined> {
  for (const member of members) if (await member.leads(what)) return member
  return undefined
}

const WRITING_MS = 3_000

/** Whether a session was seen that has written and not yet committed. */
async function untilWriting(databaseUrl: string): Promise<boolean> {
  return await withClient(databaseUrl, async (client) => {
    const endMs = performance.now() + WRITING_MS
    while (performance.now() < endMs) {
      const { rows } = await client.query(
        `select 1 from pg_stat_activity where application_name = 'sexton start' and backend_xid is not null`,
      )
      if (rows.length > 0) return true
    }
    return false
  }).catch(() => false)
}

/** A server process that is killed makes PostgreSQL end all others and recover from its log. */
async function crashPostgres(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid')
    kill(rows[0].pid, 'SIGKILL')
  })
}
