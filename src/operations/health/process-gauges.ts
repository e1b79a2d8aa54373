import type { Readiness } from '#serving/api/health-routes.ts'
import type { GaugeReading } from '#serving/api/metrics.ts'

export interface ProcessGaugeDeps {
  waitingCalls(): number
  readiness(): Promise<Readiness>
}

export function processGauges(deps: ProcessGaugeDeps): readonly GaugeReading[] {
  return [
    {
      name: 'sexton_ready',
      help: '1 while /readyz answers 200',
      read: async () => Number((await deps.readiness()).ready),
    },
    {
      name: 'process_start_time_seconds',
      help: 'Start of the process, in Unix seconds',
      read: async () => performance.timeOrigin / 1_000,
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory',
      read: async () => process.memoryUsage.rss(),
    },
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time of all threads',
      type: 'counter',
      read: async () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6,
    },
    {
      name: 'sexton_meter_waiting_calls',
      help: 'Calls that wait for a decision of the meter',
      read: async () => deps.waitingCalls(),
    },
  ]
}
