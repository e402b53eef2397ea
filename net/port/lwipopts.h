/*
 * lwIP's options for this port, each with its reason. What is not named here
 * has lwIP's default.
 *
 * The fixed pools together take about 0.7 MiB, so that a guest of 16 MiB
 * still has most of its memory for receive buffers.
 */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

/* ---- one context, raw API only ---- */
#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0 /* interrupt handlers never enter lwIP */
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define LWIP_TIMERS 1
#define MEMP_NUM_SYS_TIMEOUT 48 /* lwIP's own need 12; the rest: servers */

/* ---- memory ---- */
#define MEM_ALIGNMENT 8
#define MEM_CUSTOM_ALLOCATOR 1 /* lwIP's own heap is first-fit: 3x slower */
#define MEM_CUSTOM_MALLOC port_mem_alloc
#define MEM_CUSTOM_CALLOC port_mem_calloc
#define MEM_CUSTOM_FREE port_mem_free
#define MEMP_MEM_MALLOC 0 /* pools are plain free lists, and bounded */
#define PBUF_POOL_SIZE 0  /* frames arrive in the driver's buffers */
#define LWIP_SUPPORT_CUSTOM_PBUF 1

#define MEMP_NUM_PBUF 8192    /* payload references: one for each segment */
#define MEMP_NUM_TCP_SEG 8192 /* 40 connections with a full send queue */
#define MEMP_NUM_TCP_PCB 512  /* TIME_WAIT included; the oldest are reused */
#define MEMP_NUM_TCP_PCB_LISTEN 16
#define MEMP_NUM_UDP_PCB 32
#define MEMP_NUM_FRAG_PBUF 1024 /* 22 datagrams of 64 KiB on their way */
#define MEMP_NUM_REASSDATA 32   /* datagrams being put together */
#define MEMP_NUM_ARP_QUEUE 64
#define MEMP_NUM_ND6_QUEUE 64
#define MEMP_NUM_MLD6_GROUP 16

/* ---- link ---- */
#define LWIP_ARP 1
#define ETH_PAD_SIZE 0 /* the device would have to write the padding */
#define ARP_TABLE_SIZE 64
#define ARP_QUEUEING 1 /* else the first burst to a new peer is lost */
#define ARP_QUEUE_LEN 8
#define ETHARP_SUPPORT_VLAN 0
#define LWIP_SINGLE_NETIF 0 /* several interfaces */
#define LWIP_NETIF_LOOPBACK 0
#define LWIP_NETIF_HWADDRHINT 1 /* ARP entry in one step, not by a search */
#define LWIP_NETIF_STATUS_CALLBACK 1
#define LWIP_NETIF_HOSTNAME 1
#define LWIP_NETIF_TX_SINGLE_PBUF 0 /* would copy every byte */

/* ---- IPv4 ---- */
#define LWIP_IPV4 1
#define IP_FORWARD 0
#define IP_REASSEMBLY 1
#define IP_FRAG 1
#define IP_REASS_MAX_PBUFS 256 /* fragments held, of all datagrams */
#define IP_REASS_MAXAGE 5      /* s; they are held in receive buffers */
#define IP_DEFAULT_TTL 64
#define LWIP_ICMP 1
#define LWIP_RAW 0
#define LWIP_IGMP 0
#define LWIP_DHCP 1
#define LWIP_DHCP_DOES_ACD_CHECK 0 /* 3 s of probes before the first byte */
#define LWIP_DNS 0

/* ---- IPv6 ---- */
#define LWIP_IPV6 1
#define LWIP_IPV6_MLD 1
#define LWIP_IPV6_FRAG 0 /* net/ip6_out.c does it without harm */
#define LWIP_IPV6_REASS 1
#define IPV6_FRAG_COPYHEADER 1 /* needed where a pointer is 64 bits */
#define IPV6_REASS_MAXAGE 5
#define LWIP_IPV6_NUM_ADDRESSES 4
#define LWIP_ND6_NUM_NEIGHBORS 32
#define LWIP_ND6_NUM_DESTINATIONS 64
#define LWIP_IPV6_DHCP6 0

/* ---- UDP ---- */
#define LWIP_UDP 1

/* ---- TCP ---- */
#define LWIP_TCP 1
#define TCP_MSS 1460 /* lwIP lowers it to what the interface's MTU allows */
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 5
#define TCP_WND (1024 * 1024)
#define TCP_SND_BUF (256 * 1024) /* tcp_output walks all that is unacked */
#define TCP_SND_QUEUELEN (4 * TCP_SND_BUF / TCP_MSS)
#define TCP_SNDLOWAT 16384 /* of no use without sockets; must fit 16 bits */
#define TCP_OVERSIZE TCP_MSS
#define TCP_QUEUE_OOSEQ 1
#define TCP_OOSEQ_MAX_PBUFS 512 /* receive buffers one gap may hold */
#define LWIP_TCP_SACK_OUT 1     /* helps the peer to recover */
#define LWIP_TCP_MAX_SACK_NUM 4
#define LWIP_TCP_TIMESTAMPS 0  /* lwIP makes no use of them */
#define TCP_TMR_INTERVAL 50    /* ms: RTO from 200 ms, delayed ACK 50 ms */
#define LWIP_TCP_RTO_TIME 1000 /* the first RTO, RFC 6298 */
#define TCP_MSL 1000           /* TIME_WAIT is searched on every SYN */
#define TCP_LISTEN_BACKLOG 1
#define TCP_DEFAULT_LISTEN_BACKLOG 255
#define LWIP_TCP_KEEPALIVE 1 /* servers choose their own times */
#define LWIP_TCP_PCB_NUM_EXT_ARGS 1

/* ---- checksums: chosen for each interface and each packet ---- */
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1

/* ---- hooks ---- */
#define LWIP_HOOK_FILENAME "lwip_hooks.h"
#define LWIP_HOOK_TCP_ISN port_tcp_isn
#define LWIP_HOOK_TCP_INPACKET_PCB port_tcp_inpacket

/* ---- counters: drops by reason and pools in use ---- */
#define LWIP_STATS 1
#define LWIP_STATS_LARGE 1
#define LINK_STATS 0
#define MEMP_STATS 1

#endif
