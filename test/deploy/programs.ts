import { glob } from 'node:fs/promises'
import { join } from 'node:path'
import { findUnpackedProgram, type UnpackedProgram, unpackOnce } from '../unpacked-program.ts'

const PROGRAMS = {
  prometheus: { package: 'prometheus', path: 'usr/bin/prometheus' },
  promtool: { package: 'prometheus', path: 'usr/bin/promtool' },
  nginx: { package: 'nginx', path: 'usr/sbin/nginx' },
  caddy: { package: 'caddy', path: 'usr/bin/caddy' },
} as const satisfies Readonly<Record<string, UnpackedProgram>>

/** Paths of the programs that the files of `deploy/` are for. */
export async function findDeployPrograms() {
  return {
    prometheus: await findUnpackedProgram(PROGRAMS.prometheus),
    promtool: await findUnpackedProgram(PROGRAMS.promtool),
    nginx: await findUnpackedProgram(PROGRAMS.nginx),
    caddy: await findUnpackedProgram(PROGRAMS.caddy),
  }
}

/** For a machine where the package is unpacked only. */
const HAPROXY_LIBRARIES = ['liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1']

export async function findHaproxy() {
  const program = await findUnpackedProgram({ package: 'haproxy', path: 'usr/sbin/haproxy' })
  const paths: string[] = []
  for (const name of HAPROXY_LIBRARIES) {
    const folder = await unpackOnce(name)
    for await (const each of glob('usr/lib/*-linux-gnu', { cwd: folder }))
      paths.push(join(folder, each))
  }
  return { program, environment: { LD_LIBRARY_PATH: paths.join(':') } }
}
