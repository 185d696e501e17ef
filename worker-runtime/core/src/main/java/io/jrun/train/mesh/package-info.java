/**
 * The ranks of a job as a mesh with named axes, the groups along its axes, and tensors that are split along axes. Begin
 * with {@link io.jrun.train.mesh.DeviceMesh}.
 *
 * <p>A loop in which one axis of the mesh shares the states and another one the layers:
 *
 * {@snippet file="io/jrun/examples/own/MeshLoop.java"}
 */
@NullMarked
package io.jrun.train.mesh;

import org.jspecify.annotations.NullMarked;
