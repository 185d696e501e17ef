/** Agents by OpenSSH, with the user's own configuration and keys. Entry: {@link io.jrun.launcher.ssh.SshBootstrap}. */
@NullMarked
package io.jrun.launcher.ssh;

import org.jspecify.annotations.NullMarked;
