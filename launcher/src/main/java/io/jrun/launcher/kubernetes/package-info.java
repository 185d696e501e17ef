/** Jobs of Kubernetes. Entry class: {@link io.jrun.launcher.kubernetes.IndexedJob}. */
@NullMarked
package io.jrun.launcher.kubernetes;

import org.jspecify.annotations.NullMarked;
