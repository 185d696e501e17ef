package io.jrun.bench.collective;

/** Rank 0 gets everybody's block. */
final class Gather implements Benched {
    @Override
    public String name() {
        return "gather";
    }

    @Override
    public double busFactor(int ranks) {
        return (ranks - 1.0) / ranks;
    }

    @Override
    public boolean hasBlocks() {
        return true;
    }

    @Override
    public void run(Cell cell) {
        cell.group().gather(cell.input(), cell.result(), cell.type(), cell.block(), 0);
    }

    @Override
    public Expected expected(Cell cell) {
        long block = cell.block();
        long count = cell.rank() == 0 ? block * cell.group().size() : 0;
        return new Expected(count, i -> cell.value(i / block, i % block));
    }
}
