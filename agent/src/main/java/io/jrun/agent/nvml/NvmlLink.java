package io.jrun.agent.nvml;

/**
 * The path between two GPUs, by their indices.
 *
 * @param path {@code NVLink}, or the name of nvidia-smi for a path over PCI: PIX, PXB, PHB, NODE or SYS
 */
public record NvmlLink(int first, int second, String path) {}
