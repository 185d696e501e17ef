/** The unix-domain socket between an agent and its workers. Entry: {@link io.jrun.agent.control.ControlSocket}. */
@NullMarked
package io.jrun.agent.control;

import org.jspecify.annotations.NullMarked;
