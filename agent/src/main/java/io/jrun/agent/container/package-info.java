/**
 * Containers of workers: what a user asks for ({@code ContainerSpec}) and what an engine does with it ({@code ContainerEngine}).
 * The grammar of the options is Pyxis'.
 */
@NullMarked
package io.jrun.agent.container;

import org.jspecify.annotations.NullMarked;
