import { cpuSeconds, peakMegabytes } from '../index/process-figures.ts'
import type { ApiRow } from './api-row.ts'
import type { CallerKind, Contestant, Cores } from './contestant.ts'
import { type LoadResult, runWrk } from './run-wrk.ts'

export interface Measure {
  readonly contestant: Contestant
  readonly callers: CallerKind
  readonly connections: number
  readonly seconds: number
  readonly path: string
  readonly cores: Cores
}

/** Loads one competitor for some seconds; several servers share the connections. */
export async function measure(input: Measure): Promise<ApiRow> {
  const { contestant, callers, connections } = input
  const { id, servers } = contestant
  const before = await figuresOf(contestant)
  const results = await Promise.all(servers.map((server) => load(input, server.url)))
  const after = await figuresOf(contestant)
  const requests = sum(results.map((each) => each.requests))
  const seconds = Math.max(...results.map((each) => each.seconds))
  const counted = after.counted - before.counted
  if (counted < requests) throw new Error(`${id}: ${requests} answers, ${counted} counted`)
  return {
    id,
    callers,
    connections,
    requestsPerSecond: sum(results.map((each) => each.requests / each.seconds)),
    p50Ms: Math.max(...results.map((each) => each.p50Ms)),
    p99Ms: Math.max(...results.map((each) => each.p99Ms)),
    commitsPerSecond: (after.commits - before.commits) / seconds,
    cpuMicroseconds: ((after.cpuSeconds - before.cpuSeconds) / requests) * 1e6,
    peakMegabytes: sum(await Promise.all(servers.map(({ pid }) => peakMegabytes(pid)))),
    loadShare: sum(results.map((each) => each.cpuSeconds)) / seconds,
    miscounted: counted - requests,
  }
}

function load(input: Measure, url: string): Promise<LoadResult> {
  const { contestant, connections, seconds, cores, path, callers } = input
  return runWrk({
    url: url + path,
    connections: connections / contestant.servers.length,
    seconds,
    core: cores.load,
    secretsFile: callers === 'keyed' ? contestant.secretsFile : undefined,
  })
}

async function figuresOf(contestant: Contestant) {
  const cpu = await Promise.all(contestant.servers.map(({ pid }) => cpuSeconds(pid)))
  return {
    cpuSeconds: sum(cpu),
    commits: (await contestant.commits?.()) ?? Number.NaN,
    counted: (await contestant.counted?.()) ?? Number.NaN,
  }
}

function sum(list: readonly number[]): number {
  return list.reduce((total, each) => total + each, 0)
}
