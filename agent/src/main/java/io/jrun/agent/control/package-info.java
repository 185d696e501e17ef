/** The unix-domain socket between an agent and its workers. Entry class: {@code ControlSocket}. */
@NullMarked
package io.jrun.agent.control;

import org.jspecify.annotations.NullMarked;
