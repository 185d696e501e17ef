/** Starts agents over OpenSSH, with the user's own configuration and keys. Entry class: {@code SshAgentLauncher}. */
@NullMarked
package io.jrun.launcher.ssh;

import org.jspecify.annotations.NullMarked;
