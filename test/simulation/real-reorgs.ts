import { parseArgs } from 'node:util'
import { auditService } from '#test/audit-service.ts'
import { reorgUnderLoad, startLiveWorld } from './reorgs-under-load.ts'

/** Reorganises two live anvil chains under the whole service, then audits it: `--all` for each depth. */
const { values } = parseArgs({
  options: {
    all: { type: 'boolean', default: false },
    depths: { type: 'string', default: '1,2,3,5,8,13,21,34,40' },
  },
})

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
