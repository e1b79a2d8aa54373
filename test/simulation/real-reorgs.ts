import { Command } from 'commander'
import { auditService } from '#test/audit-service.ts'
import { reorgUnderLoad, startLiveWorld } from './reorgs-under-load.ts'

interface Options {
  readonly all: boolean
  readonly depths: string
}

const values = new Command('node test/simulation/real-reorgs.ts')
  .description(
    'Reorganises two live anvil chains under the whole service, then audits it. Ends with 1 when the audit finds anything.',
  )
  .option('--all', 'every depth up to 40 blocks', false)
  .option('--depths <blocks>', 'these, by commas', '1,2,3,5,8,13,21,34,40')
  .parse()
  .opts<Options>()

const depths = values.all
  ? Array.from({ length: 40 }, (_, index) => index + 1)
  : values.depths.split(',').map(Number)

const world = await startLiveWorld()
try {
  const tell = (line: string) => void process.stdout.write(`${line}\n`)
  const { reorgs, calls, slowestMs } = await reorgUnderLoad(world, { depths, tell })
  tell(`${reorgs} reorgs, ${calls} calls, slowest to settle ${Math.round(slowestMs)} ms`)
  const differences = await auditService(world)
  for (const difference of differences) tell(`WRONG  ${difference}`)
  tell(differences.length === 0 ? 'the audit finds nothing' : 'FAILED')
  process.exitCode = differences.length === 0 ? 0 : 1
} finally {
  await world.stop()
}
