/** Agents by OpenSSH, with the user's own configuration and keys. Entry: {@code SshAgentLauncher}. */
@NullMarked
package io.jrun.launcher.ssh;

import org.jspecify.annotations.NullMarked;
