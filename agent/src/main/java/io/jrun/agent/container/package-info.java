/**
 * Containers of workers. {@code ContainerSpec} holds the options of a user. A {@code ContainerEngine} starts a worker
 * by such a specification. The grammar of the options is Pyxis'.
 */
@NullMarked
package io.jrun.agent.container;

import org.jspecify.annotations.NullMarked;
