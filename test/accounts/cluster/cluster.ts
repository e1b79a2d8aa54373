import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '#lib/free-port.ts'
import { sleep } from '#lib/sleep.ts'
import type { AccountsWorld } from '../world/accounts-world.ts'
import type { RoleProcess } from '../world/role-process.ts'
import { type NginxFront, startNginxFront } from './nginx-front.ts'

/** A role that is started again on the same ports and folder whenever it is killed. */
export interface Member {
  readonly role: 'serve' | 'index' | 'verify'
  /** Of its API, or of its probes. */
  readonly port: number
  process(): RoleProcess
  /** Whether it answers that it is ready. */
  isReady(): boolean
  /** Whether it leads its role; of `index` and `verify`. */
  leads(): Promise<boolean>
  /** Kills it; resolves when it is ready again. */
  killAndStart(): Promise<void>
}

/** Replicas of the API behind nginx, and two processes for each of the other roles. */
export interface Cluster {
  readonly front: NginxFront
  readonly replicas: readonly Member[]
  readonly indexers: readonly Member[]
  readonly verifiers: readonly Member[]
  stop(): Promise<void>
}

const STANDING_BY = 2

export async function startCluster(world: AccountsWorld, replicas: number): Promise<Cluster> {
  const start = (role: Member['role'], count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => startMember(world, role, index)))
  // Tables are there once the first of each is up.
  const [indexer, verifier] = [
    await startMember(world, 'index', 0),
    await startMember(world, 'verify', 0),
  ]
  const serving = [await startMember(world, 'serve', 0)]
  for (let index = 1; index < replicas; index += 1)
    serving.push(await startMember(world, 'serve', index))
  const standingBy = STANDING_BY - 1
  const [indexers, verifiers] = [
    [indexer, ...(await start('index', standingBy))],
    [verifier, ...(await start('verify', standingBy))],
  ]
  const ports = serving.map((each) => each.port)
  const front = await startNginxFront(world.folder, ports)
  return {
    front,
    replicas: serving,
    indexers,
    verifiers,
    async stop() {
      await front.stop()
      await Promise.all(
        [...serving, ...indexers, ...verifiers].map((each) => each.process().stop()),
      )
    },
  }
}

const PROBE_PORT = {
  serve: 'PORT',
  index: 'SEXTON_INDEX_METRICS_PORT',
  verify: 'SEXTON_VERIFY_METRICS_PORT',
} as const

async function startMember(
  world: AccountsWorld,
  role: Member['role'],
  index: number,
): Promise<Member> {
  const port = await freePort(0)
  const dataFolder = join(world.folder, `${role}-${port}-${index}`)
  mkdirSync(dataFolder)
  const start = async () => {
    const environment = { [PROBE_PORT[role]]: String(port) }
    for (;;) {
      const started = await world.start(role, { environment, dataFolder })
      if (await becomesReady(`http://127.0.0.1:${port}`, started)) return started
    }
  }
  let running = await start()
  let isReady = true
  return {
    role,
    port,
    process: () => running,
    isReady: () => isReady,
    async leads() {
      const text = await fetch(`http://127.0.0.1:${port}/metrics`).then(
        (answer) => answer.text(),
        () => '',
      )
      return /^sexton_role_leads\{[^}]*\} 1$/m.test(text)
    },
    async killAndStart() {
      isReady = false
      await running.kill()
      running = await start()
      isReady = true
    },
  }
}

const READY_MS = 120_000
const ASK_AGAIN_MS = 50

/** Not where it ended by itself, as it does when the database is away at its start: supervisors start it again. */
async function becomesReady(url: string, started: RoleProcess): Promise<boolean> {
  let isOver = false
  void started.exit.then(() => {
    isOver = true
  })
  const endMs = performance.now() + READY_MS
  const isUp = () =>
    fetch(`${url}/readyz`, { headers: { connection: 'close' } }).then(
      async (answer) => {
        await answer.arrayBuffer()
        return answer.ok
      },
      () => false,
    )
  while (!(await isUp())) {
    if (isOver) return false
    if (performance.now() > endMs)
      throw new Error(`a process did not become ready:\n${started.words()}`)
    await sleep(ASK_AGAIN_MS)
  }
  return true
}
