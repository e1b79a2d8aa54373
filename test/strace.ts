import { findDebianProgram } from './debian-program.ts'

/** Path of strace, which ends a process at a chosen system call; Debian's is installed if need be. */
export function findStrace(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  return findDebianProgram(environment, {
    names: ['strace'],
    missing: 'The tests that kill a process at a chosen write need strace (apt-get install strace)',
  })
}
