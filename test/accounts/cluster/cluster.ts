import { sleep } from '#base/async.ts'
import { freePort } from '#base/free-port.ts'
import type { AccountsWorld } from '../world/accounts-world.ts'
import type { RoleProcess } from '../world/role-process.ts'
import { type NginxFront, startNginxFront } from './nginx-front.ts'

/** A process that is started again on the same ports whenever it is killed. */
export interface Member {
  readonly url: string
  process(): RoleProcess
  /** Whether it answers that it is ready. */
  isReady(): boolean
  /** Whether it indexes, or runs the jobs. */
  leads(what: 'index' | 'jobs'): Promise<boolean>
  /** Kills it; resolves when it is ready again. */
  killAndStart(): Promise<void>
}

/** Processes behind nginx, each of which can lead. */
export interface Cluster {
  readonly front: NginxFront
  readonly members: readonly Member[]
  stop(): Promise<void>
}

export async function startCluster(world: AccountsWorld, size: number): Promise<Cluster> {
  const members: Member[] = []
  for (let index = 0; index < size; index += 1) members.push(await startMember(world))
  const ports = members.map(({ url }) => Number(new URL(url).port))
  const front = await startNginxFront(world.folder, ports)
  return {
    front,
    members,
    async stop() {
      await front.stop()
      await Promise.all(members.map((each) => each.process().stop()))
    },
  }
}

async function startMember(world: AccountsWorld): Promise<Member> {
  const [port, metricsPort] = [await freePort(0), await freePort(0)]
  const url = `http://127.0.0.1:${port}`
  const environment = { PORT: String(port), SEXTON_METRICS_PORT: String(metricsPort) }
  const start = async () => {
    for (;;) {
      const started = await world.start('start', { environment })
      if (await becomesReady(url, started)) return started
    }
  }
  let running = await start()
  let isReady = true
  return {
    url,
    process: () => running,
    isReady: () => isReady,
    async leads(what) {
      const text = await fetch(`http://127.0.0.1:${metricsPort}/metrics`).then(
        (answer) => answer.text(),
        () => '',
      )
      return text.includes(`sexton_leads{of="${what}"} 1`)
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
