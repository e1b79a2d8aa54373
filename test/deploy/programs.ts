import { findUnpackedProgram, type UnpackedProgram } from '../unpacked-program.ts'

const PROGRAMS = {
  promtool: { package: 'prometheus', path: 'usr/bin/promtool' },
  amtool: { package: 'prometheus-alertmanager', path: 'usr/bin/amtool' },
  nginx: { package: 'nginx', path: 'usr/sbin/nginx' },
  caddy: { package: 'caddy', path: 'usr/bin/caddy' },
} as const satisfies Readonly<Record<string, UnpackedProgram>>

/** Paths of the programs that the files of `deploy/` are for. */
export async function findDeployPrograms() {
  return {
    promtool: await findUnpackedProgram(PROGRAMS.promtool),
    amtool: await findUnpackedProgram(PROGRAMS.amtool),
    nginx: await findUnpackedProgram(PROGRAMS.nginx),
    caddy: await findUnpackedProgram(PROGRAMS.caddy),
  }
}
