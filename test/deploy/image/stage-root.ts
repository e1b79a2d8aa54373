import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Of the official Node image. */
const PASSWD = `root:x:0:0:root:/root:/bin/sh
node:x:1000:1000::/home/node:/bin/sh
`
const GROUP = 'root:x:0:\nnode:x:1000:\n'

/** How npm finds its registry through this machine's network. */
const OF_NETWORK =
  /^(npm_config_.*|node_extra_ca_certs|ssl_cert_(file|dir)|https?_proxy|no_proxy)$/i

/** Mounts what a base image has, and runs a command in it. $1 root, $2 Node's folder, $3 mode, then the command. */
const ENTER = `set -e
root=$1; node=$2; mode=$3; shift 3
mount --bind "$root" "$root"
mount --rbind /usr "$root/usr"
mount --bind "$node" "$root/usr/local/bin"
mount --rbind /dev "$root/dev"
mount --rbind /proc "$root/proc"
if [ "$mode" = read-only ]; then
  mount --bind "$root/data" "$root/data"
  mount -t tmpfs tmpfs "$root/tmp"
  mount -o remount,ro,bind "$root"
fi
exec "$@"`

export interface StageCommand {
  readonly workdir: string
  readonly environment: Readonly<Record<string, string>>
  /** Exec form. */
  readonly command: readonly string[]
  readonly user?: string
  readonly isReadOnly?: boolean
}

/** A folder that commands see as their root, with this machine's Debian and the pinned Node, and nothing else. */
export class StageRoot {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  static async open(): Promise<StageRoot> {
    const folder = await mkdtemp(join(tmpdir(), 'sexton-image-'))
    await chmod(folder, 0o755)
    for (const each of ['usr', 'dev', 'proc', 'etc', 'root', 'home/node', 'tmp'])
      await mkdir(join(folder, each), { recursive: true })
    for (const each of ['bin', 'sbin', 'lib', 'lib64'])
      await symlink(join('usr', each), join(folder, each))
    await writeFile(join(folder, 'etc/passwd'), PASSWD)
    await writeFile(join(folder, 'etc/group'), GROUP)
    for (const each of ['resolv.conf', 'hosts', 'nsswitch.conf', 'ssl', 'npmrc'])
      await cp(join('/etc', each), join(folder, 'etc', each), { recursive: true }).catch(
        () => undefined,
      )
    await cp(join(process.env.HOME ?? '/root', '.npmrc'), join(folder, 'root/.npmrc')).catch(
      () => undefined,
    )
    return new StageRoot(folder)
  }

  /** Of a RUN. */
  async run(command: StageCommand): Promise<void> {
    const environment = { ...networkVariables(), ...command.environment }
    const [program = '', ...parameters] = this.#enter({ ...command, environment })
    await run(program, parameters, { maxBuffer: 2 ** 24 })
  }

  spawn(command: StageCommand): ChildProcess {
    const [program = '', ...parameters] = this.#enter(command)
    return spawn(program, parameters, { stdio: ['ignore', 'pipe', 'pipe'] })
  }

  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true })
  }

  #enter({ workdir, environment, command, user, isReadOnly }: StageCommand): readonly string[] {
    const id = user === 'node' ? '1000:1000' : '0:0'
    const home = user === 'node' ? '/home/node' : '/root'
    const path = '/usr/local/bin:/usr/sbin:/usr/bin'
    const variables = Object.entries({ PATH: path, HOME: home, ...environment })
    return [
      ...['unshare', '--mount', '--propagation', 'private', '/bin/sh', '-c', ENTER, 'sh'],
      ...[this.folder, dirname(process.execPath), isReadOnly === true ? 'read-only' : 'writable'],
      ...['chroot', `--userspec=${id}`, '--groups=', this.folder],
      ...['/usr/bin/env', '-i', `--chdir=${workdir}`],
      ...variables.map(([name, value]) => `${name}=${value}`),
      ...command,
    ]
  }
}

function networkVariables(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && OF_NETWORK.test(name) ? [[name, value]] : [],
    ),
  )
}
