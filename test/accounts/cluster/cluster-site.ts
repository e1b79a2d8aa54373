import type { Site, TruthResult } from '../truth/run-truth.ts'
import type { AccountsWorld } from '../world/accounts-world.ts'
import { type Cluster, startCluster } from './cluster.ts'

/** A cluster that is called through nginx while something happens to it. */
export async function openClusterSite(
  world: AccountsWorld,
  replicas: number,
  disturb: (cluster: Cluster, stop: AbortSignal) => Promise<void>,
): Promise<Site> {
  const cluster = await startCluster(world, replicas)
  return {
    urls: [cluster.front.url],
    pids: () => cluster.members.map((each) => each.process().pid),
    gone: new Promise(() => undefined),
    disturb: (stop) => disturb(cluster, stop),
    reached: () => cluster.front.reached(),
    stop: () => cluster.stop(),
  }
}

/** Prints what a run came to; 1 if anything differs. */
export function report(result: TruthResult, lines: number): 0 | 1 {
  const { violations, compared, failures, answers, deeds, lost, calls, seconds, tookMs } = result
  printCounts('', answers)
  printCounts("owner's ", deeds)
  printCounts('failed: ', failures)
  process.stdout.write(
    `p50 ${tookMs(0.5)} ms, p99 ${tookMs(0.99)} ms, p99.9 ${tookMs(0.999)} ms of answers on ${lines} connections\n` +
      `up to ${lost} metered calls more than were answered may be counted\n` +
      `compared ${compared.bucketDays} identities and days (${compared.exactBucketDays} without lost calls), ` +
      `${compared.wallets} wallets' money, ${compared.usages} usages; ${calls} calls, ${Math.round(calls / seconds)} a second\n`,
  )
  for (const line of violations) process.stdout.write(`WRONG  ${line}\n`)
  process.stdout.write(violations.length === 0 ? 'Nothing differs.\n' : 'It differs.\n')
  return violations.length === 0 ? 0 : 1
}

export function printCounts(what: string, counts: ReadonlyMap<string, number>): void {
  for (const [name, count] of [...counts].sort()) process.stdout.write(`${count}\t${what}${name}\n`)
}

export function printProgress(all: number): (at: { calls: number; seconds: number }) => void {
  return ({ calls, seconds }) => {
    if (Math.round(seconds) % 10 === 0)
      process.stdout.write(`${calls} of ${all} calls in ${seconds.toFixed(0)} s\n`)
  }
}
