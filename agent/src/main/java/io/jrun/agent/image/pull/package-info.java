/**
 * The process that prepares images: reads images of registries, OCI layouts and archives, verifies and unpacks them
 * into the cache. Only this package needs the libraries in {@code lib/image}. Nothing else calls this package.
 */
@NullMarked
package io.jrun.agent.image.pull;

import org.jspecify.annotations.NullMarked;
