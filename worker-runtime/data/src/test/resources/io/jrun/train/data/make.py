# Prints the batches of torch 2.13's DataLoader with DistributedSampler and RandomSampler: python3 make.py > batches.txt
import torch
from torch.utils.data import DataLoader, DistributedSampler, RandomSampler


def text(batches):
    return " ".join("[" + ",".join(str(int(i)) for i in batch) + "]" for batch in batches)


def line(samples, ranks, rank, batch, seed, epoch, remainder):
    sampler = DistributedSampler(range(samples), ranks, rank, True, seed, drop_last=remainder == "DROP")
    sampler.set_epoch(epoch)
    loader = DataLoader(list(range(samples)), batch, sampler=sampler, drop_last=remainder == "DROP")
    print(samples, ranks, rank, batch, seed, epoch, remainder, text(loader), sep="|")


for samples, ranks, batch, seed in ((23, 3, 2, 5), (16, 2, 4, 0), (101, 4, 8, 42), (7, 5, 3, 1)):
    for epoch in (0, 3):
        for rank in range(ranks):
            line(samples, ranks, rank, batch, seed, epoch, "REPEAT")
            if samples >= ranks * batch:
                line(samples, ranks, rank, batch, seed, epoch, "DROP")
for samples, batch, seed in ((23, 5, 9), (64, 16, 2)):
    sampler = RandomSampler(range(samples), generator=torch.Generator().manual_seed(seed))
    print(samples, 1, 0, batch, seed, 0, "REPEAT", text(DataLoader(list(range(samples)), batch, sampler=sampler)), sep="|")
