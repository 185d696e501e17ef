/**
 * The engine that needs nothing but util-linux: namespaces, an overlay over the image and bind mounts. As root the
 * kernel mounts a .sqsh image, else squashfuse. Entry: {@code BuiltinEngine}.
 */
@NullMarked
package io.jrun.agent.container.builtin;

import org.jspecify.annotations.NullMarked;
