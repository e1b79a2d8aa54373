import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { findDebianProgram } from './debian-program.ts'

/** Path of strace, which ends a process at a chosen system call; Debian's is installed if need be. */
export function findStrace(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  return findDebianProgram(environment, {
    names: ['strace'],
    missing: 'The tests that kill a process at a chosen write need strace (apt-get install strace)',
  })
}

/** How SQLite changes its files, by system call. */
export const writeCalls = ['pwrite64', 'ftruncate', 'unlink'] as const

export type WriteCall = (typeof writeCalls)[number]

/** What strace does to a process, at calls on some files only. */
export type Tracing =
  /** Kills it with SIGKILL as it begins its k-th call. */
  | { readonly kind: 'kill'; readonly call: WriteCall; readonly at: number }
  /** Writes every call down in a file. */
  | { readonly kind: 'list'; readonly calls: readonly WriteCall[]; readonly file: string }

/**
 * What to start a program with, so that it is traced. strace stands aside (`-D`): the child is the
 * program itself and its end is its own.
 */
export function tracedBy(strace: string, paths: readonly string[], tracing: Tracing): string[] {
  const calls = tracing.kind === 'kill' ? [tracing.call] : tracing.calls
  const common = ['-D', '-f', '-qq', `--trace=${calls.join(',')}`]
  const only = paths.flatMap((path) => ['-P', path])
  if (tracing.kind === 'list') return [strace, ...common, ...only, '-y', '-o', tracing.file]
  const kill = `--inject=${tracing.call}:signal=KILL:when=${tracing.at}`
  return [strace, ...common, ...only, kill, '-o', '/dev/null']
}

/** The files that a SQLite database consists of. */
export function sqliteFiles(file: string): string[] {
  return ['', '-wal', '-shm'].map((end) => file + end)
}

/** strace ends a little after the program that it watches; gives its whole list. */
export async function readTrace(file: string): Promise<string> {
  for (let before = -1; ; ) {
    const text = existsSync(file) ? await readFile(file, 'utf8') : ''
    if (text.length === before && text !== '') return text
    before = text.length
    await sleep(100)
  }
}

/** How often each call stands in a list. */
export function countTraced(
  text: string,
  calls: readonly WriteCall[],
): ReadonlyMap<WriteCall, number> {
  return new Map(
    calls.map((call) => [call, [...text.matchAll(new RegExp(`^\\d+ +${call}\\(`, 'gm'))].length]),
  )
}
