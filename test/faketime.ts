import { glob } from 'node:fs/promises'
import { findDebianProgram, MissingProgram } from './debian-program.ts'

const missing =
  'The tests that move the clock of a process need libfaketime (apt-get install faketime)'

/** Path of libfaketime, which moves the clock of a process that preloads it; Debian's is installed if need be. */
export async function findFaketime(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  await findDebianProgram(environment, { names: ['faketime'], missing })
  for await (const path of glob('/usr/lib/*/faketime/libfaketimeMT.so.1')) return path
  throw new MissingProgram(missing)
}
